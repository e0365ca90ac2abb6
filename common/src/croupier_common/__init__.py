"""The game of Fish: its rules, its strategies, its protocol and its records.

Nothing in here reads a clock, a random source, a file or a socket: seeds, times and streams are
arguments.
"""

from croupier_common.actions import Action, Move, Placement
from croupier_common.board import Board
from croupier_common.board_spec import BoardSpec
from croupier_common.errors import (
    ActionError,
    FishError,
    IllegalAction,
    InvalidBoard,
    InvalidRules,
    InvalidState,
    InvalidStrategy,
    NotAMessage,
    NotAnAction,
    RecordError,
)
from croupier_common.game import Game, NumberedEvent, Request
from croupier_common.grid import Position
from croupier_common.outcome import Color, Outcome
from croupier_common.rules import CLASSIC, FISH, Rules
from croupier_common.state import LegalActions, PlayerState, Stage, State
from croupier_common.verdict import Fault, Phase, Verdict

__all__ = [
    "CLASSIC",
    "FISH",
    "Action",
    "ActionError",
    "Board",
    "BoardSpec",
    "Color",
    "Fault",
    "FishError",
    "Game",
    "IllegalAction",
    "InvalidBoard",
    "InvalidRules",
    "InvalidState",
    "InvalidStrategy",
    "LegalActions",
    "Move",
    "NotAMessage",
    "NotAnAction",
    "NumberedEvent",
    "Outcome",
    "Phase",
    "Placement",
    "PlayerState",
    "Position",
    "RecordError",
    "Request",
    "Rules",
    "Stage",
    "State",
    "Verdict",
    "__version__",
]

__version__ = "0.1.0"
