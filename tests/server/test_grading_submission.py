"""Submissions as learning-management systems export them, good and bad ones beside each other."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import pytest

from croupier_server.errors import UserError
from croupier_server.grading import submission as intake
from croupier_server.grading.evidence import FAULT
from croupier_server.grading.manifest import Manifest, read_manifest
from croupier_server.grading.naming import names_of
from croupier_server.grading.submission import Submission, find_submissions
from support.needs import require

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
TOML = 'name = "Pingu"\ncommand = "./run"\n'
PLAYER = "from croupier_client import Player\nclass Mine(Player):\n    pass\n"
Files = Mapping[str, str | bytes]


def write(folder: Path, files: Files) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def zipped(files: Files) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def found_in(source: Path, tmp_path: Path) -> Mapping[str, Submission]:
    work = tmp_path / "work"
    work.mkdir()
    found = find_submissions(source, work)
    for submission in found:
        assert (submission.folder is None) == bool(submission.intake.problem)
        assert (submission.manifest is None) == bool(submission.intake.problem)
    assert sorted(path.name for path in work.iterdir()) == sorted(
        submission.intake.name for submission in found if submission.folder
    )
    return {submission.intake.name: submission for submission in found}


def tree(submission: Submission) -> set[str]:
    root = submission.folder
    assert root is not None
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if not path.is_dir()}


def test_exports_are_read_as_they_come(tmp_path: Path) -> None:
    project = {"project/player.toml": TOML, "project/run": "#!/bin/sh\r\necho\r\n"}
    source = write(
        tmp_path / "source",
        {
            "Ada Öster_123_assignsubmission_file_/hand-in.zip": zipped(project),
            "Bo Ek_124_assignsubmission_onlinetext_/onlinetext.html": "hi",
            "doejane_123_456_project.zip": zipped({**project, "__MACOSX/._x": "x"}),
            "roejohn_124_457_player-1.py": PLAYER,
            "submission_7/player.toml": TOML,
            "submission_7/run": "x",
            "submission_8/report.pdf": "x",
            "submission_8/a/b/player.toml": TOML,
            "submission_8/a/b/run": "x",
            "submission_metadata.yml": "x",
            "grades.csv": "x",
            "README.md": "x",
            ".DS_Store": "x",
            "__MACOSX/x": "x",
        },
    )
    found = found_in(source, tmp_path)
    assert set(found) == {
        "Ada-Öster_123",
        "doejane_123_456_project",
        "roejohn_124_457_player-1",
        "submission_7",
        "submission_8",
    }
    assert not any(submission.intake.problem for submission in found.values())
    ada = found["Ada-Öster_123"]
    assert ada.intake.source == "Ada Öster_123_assignsubmission_file_"
    assert ada.intake.player == "Pingu"
    assert ada.intake.notes == (
        "hand-in.zip was entered",
        "project was entered",
        "line ends of run were mended",
    )
    assert tree(ada) == {"player.toml", "run"}
    assert ada.folder is not None
    assert (ada.folder / "run").read_bytes() == b"#!/bin/sh\necho\n"
    assert os.access(ada.folder / "run", os.X_OK)
    assert ada.intake.digest == found["doejane_123_456_project"].intake.digest
    assert ada.intake.digest != found["submission_7"].intake.digest
    assert tree(found["roejohn_124_457_player-1"]) == {"roejohn_124_457_player-1.py"}


def test_bad_one_has_a_problem_and_the_others_do_not(tmp_path: Path) -> None:
    source = write(
        tmp_path / "source",
        {
            "bad-toml/player.toml": "name = ",
            "bad-zip.zip": "PK",
            "empty/.DS_Store": "x",
            "good/player.toml": TOML,
            "notes.txt": "x",
            "plain.py": "print(1)",
            "project.rar": "Rar!",
            "slip.zip": zipped({"../evil": "x"}),
            "no-player.zip": zipped({"a.zip": "x", "b.zip": "y"}),
        },
    )
    found = found_in(source, tmp_path)
    problems = {name: one.intake.problem for name, one in found.items()}
    assert problems.pop("good") == ""
    assert problems["bad-toml"].startswith("player.toml: it is no TOML")
    assert problems["bad-zip"].startswith("bad-zip.zip: a damaged zip")
    assert problems["empty"].endswith("and there is nothing")
    assert problems["project"] == (
        "project.rar: neither a folder, a zip nor a Python file; hand in a zip"
    )
    assert problems["slip"] == "../evil: a path with .. in it"
    assert problems["plain"].endswith("and there is plain.py")
    assert problems["no-player"].endswith("and there is a.zip, b.zip")
    assert set(problems) == {*problems, "notes-txt"}
    assert not (tmp_path / "evil").exists()


def test_hostile_one_does_not_keep_the_others_from_their_grades(tmp_path: Path) -> None:
    digits = f"{TOML}build = {'1' * 5_000}"
    links = BytesIO()
    with zipfile.ZipFile(links, "w") as archive:
        archive.writestr("player.toml", TOML)
        for number in range(2_000):
            link = zipfile.ZipInfo(f"l{number}")
            link.create_system, link.external_attr = 3, 0o120777 << 16
            archive.writestr(link, f"l{number + 1}")
    source = write(
        tmp_path / "source",
        {
            "digits/player.toml": digits,
            "good/player.toml": TOML,
            "links.zip": links.getvalue(),
            "many-keys/player.toml": f"a{'.a' * 30_000} = 1",
            "zip.zip": zipped({"zip.zip": zipped({"zip.zip": zipped({"player.toml": digits})})}),
        },
    )
    found = found_in(source, tmp_path)
    problems = {name for name, submission in found.items() if submission.intake.problem}
    assert problems == {"digits", "links", "many-keys", "zip"}
    assert set(found) == {*problems, "good"}


def test_fault_of_ours_with_one_is_none_of_it_nor_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "source", {"bad/player.toml": TOML, "good/player.toml": TOML})

    def odd(root: Path) -> Manifest:
        if "bad" in str(root):
            raise ZeroDivisionError
        return read_manifest(root)

    monkeypatch.setattr(intake, "read_manifest", odd)
    found = found_in(source, tmp_path)
    assert found["bad"].intake.problem == FAULT
    assert not found["good"].intake.problem


def test_folder_that_can_not_be_looked_into_is_the_problem_of_one() -> None:
    require("root", hasattr(os, "geteuid") and os.geteuid() == 0, "not root")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {"closed/player.toml": TOML, "good/player.toml": TOML, "mine.py": PLAYER}
        source = write(folder / "source", files)
        (source / "closed").chmod(0)
        shutil.chown(folder, 61_997)
        os.seteuid(61_997)
        try:
            found = found_in(source, folder)
        finally:
            os.seteuid(0)
    assert found["closed"].intake.problem == "closed: Permission denied"
    assert not found["good"].intake.problem


def test_who_has_results_in_the_own_folder_is_handed_in(tmp_path: Path) -> None:
    files = {"ada/player.toml": TOML, "ada/.grading/run.json": "{}", "ada/graded/.grading/x": ""}
    source = write(tmp_path / "source", {**files, "out/.grading/run.json": "{}"})
    found = found_in(source, tmp_path)
    assert set(found) == {"ada"}
    assert tree(found["ada"]) == {"player.toml", ".grading/run.json"}


def test_source_that_is_one_is_one_whatever_is_in_it(tmp_path: Path) -> None:
    source = write(tmp_path / "source", {"Player.java": "x", "Util.java": "x"})
    work = tmp_path / "work"
    work.mkdir()
    (found,) = find_submissions(source, work, is_one=True)
    assert "there is Player.java, Util.java" in found.intake.problem


def test_links_in_a_source_lead_nowhere(tmp_path: Path) -> None:
    require("posix", os.name == "posix", "symbolic links")
    secret = write(tmp_path / "secret", {"player.toml": TOML})
    source = write(
        tmp_path / "source", {"a/player.toml": TOML, "b/x": "x", "c/d/player.toml": TOML}
    )
    (source / "all").symlink_to(secret)
    (source / "a" / "passwd").symlink_to("/etc/passwd")
    (source / "b" / "player.toml").symlink_to(secret / "player.toml")
    (source / "c" / "d" / "up").symlink_to("../x")
    found = found_in(source, tmp_path)
    problems = {name: one.intake.problem for name, one in found.items()}
    assert problems == {
        "a": "passwd: a link that leaves the folder, to /etc/passwd",
        "all": "all: a link; hand in what it leads to",
        "b": f"player.toml: a link that leaves the folder, to {secret / 'player.toml'}",
        "c": "up: a link that leaves the folder, to ../x",
    }


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"player.toml": TOML, "old.zip": zipped({"player.toml": TOML})}, "it has a player.toml"),
        ({"mine.py": PLAYER, "helper.py": "x = 1", "data/x": "x"}, "it has a player in mine.py"),
    ],
)
def test_own_folder_is_one_submission_and_that_is_said(
    files: Files, why: str, tmp_path: Path
) -> None:
    source = write(tmp_path / "mine", {**files, "out/.grading/x": "x", ".venv/bin/python": "x"})
    work = source / "new out" / ".grading" / "work"
    work.mkdir(parents=True)
    (found,) = find_submissions(source, work)
    assert found.intake.name == "mine"
    assert found.intake.notes[0] == "left out: .venv"
    assert why in found.intake.notes[1]
    assert tree(found) == set(files)


def test_players_beside_other_submissions_are_several(tmp_path: Path) -> None:
    source = write(tmp_path / "s", {"a.py": PLAYER, "b.py": PLAYER, "c/player.toml": TOML})
    assert set(found_in(source, tmp_path)) == {"a", "b", "c"}


@pytest.mark.parametrize("name", ["x.zip", "x.py"])
def test_single_file_is_a_submission(name: str, tmp_path: Path) -> None:
    content = PLAYER if name == "x.py" else zipped({"deep/er/player.toml": TOML})
    write(tmp_path, {name: content})
    assert found_in(tmp_path / name, tmp_path)["x"].intake.problem == ""


def test_source_without_submissions_is_told(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "work").mkdir()
    with pytest.raises(UserError, match=r"no submissions in .*source: it has no player\.toml"):
        find_submissions(tmp_path / "source", tmp_path / "work")
    with pytest.raises(UserError, match=r"there is no .*nowhere"):
        find_submissions(tmp_path / "nowhere", tmp_path / "work")


def test_names_are_safe_and_differ() -> None:
    names = names_of(
        [
            "Ada L.zip",
            "ADA-l",
            "CON.zip",
            "aux",
            "..",
            "///",
            "张伟_1.zip",
            "x" * 300,
            "x" * 301,
            "b.zip",
            "Jane Doe_1_assignsubmission_file",
            "=cmd|'!A1",
            "tab\there",
            "nul.py",
        ]
    )
    assert len({name.casefold() for name in names.values()}) == len(names)
    assert names["b.zip"] == "b"
    assert names["张伟_1.zip"] == "张伟_1"
    assert names["CON.zip"] == "CON_"
    assert names["Jane Doe_1_assignsubmission_file"] == "Jane-Doe_1"
    assert names["=cmd|'!A1"] == "cmd-A1"
    for name in names.values():
        assert 1 <= len(name) <= 48
        assert len(name.encode()) < 200
        assert name[0] not in "-."
        assert not set(name) & set(". /\\:*?\"<>|'=+@,;\t")


def test_nobody_can_take_a_name_that_another_has() -> None:
    names = names_of(["foo.zip", "foo.py"])
    taken = [f"{names['foo.zip']}.zip", "bar.zip"]
    again = names_of(["foo.zip", "foo.py", *taken])
    assert len(set(again.values())) == 4
    assert again["bar.zip"] == "bar"


def test_names_stay_when_others_come() -> None:
    few = names_of(["Ada L.zip", "x" * 300, "张伟_1.zip"])
    many = names_of(["Ada L.zip", "x" * 300, "张伟_1.zip", "Bo.zip", "x" * 301])
    assert {source: many[source] for source in few} == few


def test_examples_are_taken_in_as_they_say(tmp_path: Path) -> None:
    good = found_in(EXAMPLES / "submissions", tmp_path)
    assert list(good) == ["c", "java", "javascript", "python_kit", "python_stdio"]
    assert not any(submission.intake.problem for submission in good.values())
    (tmp_path / "work").rename(tmp_path / "good")
    broken = found_in(EXAMPLES / "submissions-broken", tmp_path)
    problems = {name for name, submission in broken.items() if submission.intake.problem}
    assert problems == {"no_player", "syntax_error", "wrong_manifest"}
    for entry in (EXAMPLES / "submissions-broken").iterdir():
        files = [entry] if entry.is_file() else list(entry.iterdir())
        assert any("Wrong: " in file.read_text(encoding="utf-8") for file in files), entry
