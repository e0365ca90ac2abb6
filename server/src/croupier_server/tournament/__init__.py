"""Tournaments: formats (pure: results in, pairings out), and the manager that plays them."""
