"""The operator's pages: orders to tournaments, behind a token."""
