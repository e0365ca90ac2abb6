"""What tests share. `pythonpath` in pyproject.toml makes it importable as `support`."""
