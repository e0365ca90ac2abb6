"""The course of a rating: a point after each game, and a chart with nothing but numbers in it."""

from __future__ import annotations

from croupier_server.tournament.model import Entrant, Field, Result
from croupier_server.web.rating_chart import rating_course, rating_svg


def won(number: int, winner: str, loser: str, kind: str = "played") -> Result:
    game = f"1.{number}"
    ranking = ((winner,), (loser,))
    assert kind in {"played", "void"}
    return Result(game, game, 1, (winner, loser), "void" if kind == "void" else "played", ranking)


FIELD = Field((Entrant("a"), Entrant("b"), Entrant("c")))


def test_course_has_a_point_for_each_game_of_the_player() -> None:
    results = {
        one.game: one
        for one in (won(1, "a", "b"), won(2, "b", "c"), won(3, "a", "c"), won(4, "a", "b", "void"))
    }
    course = rating_course(FIELD, results, "a")
    assert [point.game for point in course] == ["1.1", "1.3"]
    assert course[0].rating < course[1].rating
    assert all(point.low < point.rating < point.high for point in course)
    first, last = (point.high - point.low for point in course)
    assert last < first  # surer with every game


def test_chart_stays_in_its_box_and_has_only_numbers() -> None:
    results = {f"1.{n}": won(n, "<script>", "b") for n in range(1, 30)}
    chart = rating_svg(rating_course(FIELD, results, "<script>"))
    assert "script" not in chart
    points = chart.split('points="')[1].split('"')[0].split()
    for point in points:
        x, y = map(float, point.split(","))
        assert 0 <= x <= 480.1
        assert -0.1 <= y <= 150.1
