"""Wrong: this is a strategy, but no player: nothing says how it is to be started."""


def choose(legal_actions):
    """The first legal action."""
    return legal_actions[0]
