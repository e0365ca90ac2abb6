"""``python -m croupier_client`` is ``penguin``."""

from croupier_client.cli import main

if __name__ == "__main__":
    main()
