"""``python -m croupier_server`` is ``croupier``."""

from croupier_server.cli import main

if __name__ == "__main__":
    main()
