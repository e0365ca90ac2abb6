"""The steps of the conformance check, as a rubric may name them.

They are the players' kit's, which the server starts and never imports; a test holds the two equal.
"""

from __future__ import annotations

from typing import Final

__all__ = ["GROUPS", "MAY_BE_SKIPPED", "STEPS"]

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "joining": (
        "connects",
        "join",
        "join-name",
        "join-answer",
        "tournament-start",
        "game-start",
    ),
    "messages": (
        "ids",
        "unknown-fields",
        "unknown-notification",
        "unknown-method",
        "unknown-event",
        "json-forms",
        "joined-messages",
        "split-message",
        "clocks",
        "legal-actions",
        "pings",
    ),
    "boards": (
        "board-with-holes",
        "board-without-origin",
        "board-of-one-row",
        "board-of-one-column",
        "board-for-one-fish",
        "board-of-400-tiles",
        "board-with-many-fish",
    ),
    "turns": (
        "last-free-tile",
        "only-move",
        "stuck-penguins",
        "others-skipped",
        "skipped-itself",
        "other-ejected",
        "other-ejected-while-placing",
        "other-absent",
        "position-jumps",
        "same-position",
    ),
    "games": (
        "game-from-seat-1",
        "game-from-seat-2",
        "game-from-seat-3",
        "game-from-seat-4",
        "rules-by-option",
        "game-end-unanswered",
        "two-games",
        "interrupted-game",
        "slow-opponents",
        "games-at-once",
    ),
    "the end": ("answers-in-time", "tournament-end", "leaves"),
    "coming back": (
        "slow-start",
        "reconnects",
        "reconnects-while-asked",
        "same-answer-again",
        "ejected",
        "refused",
        "starts-anew",
    ),
}
"""By group, the steps in their order."""

STEPS: Final = tuple(step for steps in GROUPS.values() for step in steps)
"""All steps, in their order."""

MAY_BE_SKIPPED: Final = frozenset(
    {
        "join-name",
        "split-message",
        "pings",
        "skipped-itself",
        "games-at-once",
        "reconnects",
        "reconnects-while-asked",
        "same-answer-again",
        "refused",
    }
)
"""Steps that don't apply to each player. Any other one is skipped only where the check has given
up on the player: what comes after that was not reached, and is not done."""
