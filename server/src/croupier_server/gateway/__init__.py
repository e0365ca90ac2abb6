"""Transports, one module each; every one makes seats."""
