"""Where games are written down."""
