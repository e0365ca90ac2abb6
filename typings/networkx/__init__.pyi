from collections.abc import Iterable

class Graph:
    def add_nodes_from(self, nodes: Iterable[int]) -> None: ...
    def add_edge(self, u: int, v: int, *, weight: int) -> None: ...

def max_weight_matching(
    G: Graph,  # noqa: N803
    maxcardinality: bool = False,
    weight: str = "weight",
) -> set[tuple[int, int]]: ...
