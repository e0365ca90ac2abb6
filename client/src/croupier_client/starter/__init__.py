"""What `penguin new` writes: a player that runs as it is, and what to do with it."""
