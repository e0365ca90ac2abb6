"""The load generator: players by the thousand for a server of one's own, and what they measure."""
