"""The commands around tournaments, one file each; what they share stands beside them."""
