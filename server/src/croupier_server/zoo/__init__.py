"""The hostile zoo: programs that do one thing wrong each, and how each must end."""
