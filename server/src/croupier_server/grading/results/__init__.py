"""Grades as files: one module for each kind."""
