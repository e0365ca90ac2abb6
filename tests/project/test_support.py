"""What all tests rely on: needs that are skipped or demanded, and no tasks left over."""

from pathlib import Path

import pytest

from support import course
from support.needs import NEEDS, VARIABLE, demanded_needs, require

TESTS = Path(__file__).resolve().parent.parent


def test_demanded_needs_all_covers_every_need() -> None:
    assert demanded_needs("all") == set(NEEDS)


def test_demanded_needs_takes_names_and_exceptions() -> None:
    assert demanded_needs("") == set()
    assert demanded_needs("course-cases") == {"course-cases"}
    assert demanded_needs("all, -course-cases") == set(NEEDS) - {"course-cases"}


@pytest.mark.parametrize("setting", ["al", "course_cases", "all,-cours-cases"])
def test_demanded_needs_unknown_name_is_refused(setting: str) -> None:
    with pytest.raises(pytest.UsageError, match="it may have all, course-cases"):
        demanded_needs(setting)


def test_require_available_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "all")
    require("course-cases", True, "unused")


def test_require_missing_skips_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "all,-course-cases")
    with pytest.raises(pytest.skip.Exception, match="course-cases: not here"):
        require("course-cases", None, "not here")


def test_require_missing_but_demanded_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "course-cases")
    with pytest.raises(pytest.fail.Exception, match="course-cases: not here"):
        require("course-cases", None, "not here")


def test_require_unknown_need_is_a_mistake_of_the_test() -> None:
    with pytest.raises(ValueError, match="NEEDS"):
        require("coffee", True, "unused")


def test_course_parameters_are_the_lines_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = '{"name":"xboard-001","in":[1],"out":2,"checks":"nothing"}\n'
    (tmp_path / "xboard.jsonl").write_text(line, encoding="utf-8")
    monkeypatch.setenv(course.VARIABLE, str(tmp_path))
    [parameter] = course.course_parameters("xboard")
    assert parameter.id == "xboard-001"
    assert parameter.values == (course.CourseCase("xboard-001", [1], 2, "nothing"),)


@pytest.mark.parametrize("setting", ["", "empty"])
def test_course_parameters_without_cases_are_one_that_skips(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(course.VARIABLE, str(tmp_path) if setting else "")
    monkeypatch.delenv(VARIABLE, raising=False)
    [parameter] = course.course_parameters("xboard")
    assert parameter.values == (None,)
    with pytest.raises(pytest.skip.Exception, match=course.VARIABLE):
        course.require_course_folder()


@pytest.fixture
def inner(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project of its own under the same conftest and settings."""
    pytester.makeconftest((TESTS / "conftest.py").read_text(encoding="utf-8"))
    pytester.makeini(
        f"[pytest]\nasyncio_mode = auto\npythonpath = {TESTS}\n"
        "asyncio_default_fixture_loop_scope = function\n"
    )
    return pytester


def test_tasks_left_over_fail_a_test_and_its_fixtures(inner: pytest.Pytester) -> None:
    inner.makepyfile(
        """
        import asyncio
        import pytest

        @pytest.fixture
        async def careless() -> None:
            global first
            first = asyncio.create_task(asyncio.sleep(60), name="of the fixture")

        async def test_with_a_careless_fixture(careless: None) -> None:
            pass

        async def test_that_is_careless() -> None:
            global second
            second = asyncio.create_task(asyncio.sleep(60), name="of the test")

        async def test_that_clears_up() -> None:
            task = asyncio.create_task(asyncio.sleep(60))
            task.cancel()

        def test_without_a_loop() -> None:
            pass
        """
    )
    result = inner.runpytest_inprocess()
    result.assert_outcomes(passed=4, errors=2)
    result.stdout.fnmatch_lines(["*left over: of the fixture*", "*left over: of the test*"])


def test_mistyped_requirement_stops_the_run(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "everything")
    result = inner.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{VARIABLE} has 'everything'*"])
