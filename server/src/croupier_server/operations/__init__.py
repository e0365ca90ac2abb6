"""What an operator sees and does of a running process: metrics, health, drain, backup."""
