from typing import Literal, TypedDict

class _Homoglyph(TypedDict):
    c: str
    n: str

class _Confusable(TypedDict):
    character: str
    alias: str
    homoglyphs: list[_Homoglyph]

def is_confusable(
    string: str, greedy: bool = ..., preferred_aliases: list[str] = ...
) -> list[_Confusable] | Literal[False]: ...
