"""Zips and folders of strangers: what is bad in them is named, and nothing is written elsewhere."""

from __future__ import annotations

import os
import random
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from croupier_server.errors import BadSubmission
from croupier_server.grading.filling import BOUNDS, Bounds, Filling
from croupier_server.grading.limits import MIB
from croupier_server.grading.unpack import check_links, copy_folder, unpack_zip
from support.needs import require

SMALL = Bounds(total=3_000, one=2_000, entries=20, depth=4, ratio=10, ratio_from=100)

LINK = stat.S_IFLNK | 0o777
DEVICE = stat.S_IFCHR | 0o666
FIFO = stat.S_IFIFO | 0o666


def entry(name: str, mode: int = 0o644) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    return info


def zipped(folder: Path, *entries: tuple[str | zipfile.ZipInfo, bytes | str]) -> Path:
    path = folder / "hand in.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            if isinstance(name, zipfile.ZipInfo):
                name.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(name, data)
    return path


def unpacked(source: Path, folder: Path, bounds: Bounds = BOUNDS) -> Path:
    filling = Filling(folder / "root", bounds)
    unpack_zip(source, filling)
    filling.finish()
    check_links(filling.root)
    return filling.root


def copied(source: Path, folder: Path, bounds: Bounds = BOUNDS) -> Path:
    filling = Filling(folder / "root", bounds)
    copy_folder(source, filling)
    filling.finish()
    check_links(filling.root)
    return filling.root


def tree(root: Path) -> Mapping[str, bytes | str]:
    """What there is in a folder: contents of files, targets of links."""
    found: dict[str, bytes | str] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def test_zip_is_unpacked_without_litter_and_with_modes_that_work(tmp_path: Path) -> None:
    source = zipped(
        tmp_path,
        ("run.sh", "#!/bin/sh\n"),
        ("tool", b"\x7fELF..."),
        (entry("asked", 0o755), "x"),
        ("a/b/data.txt", "data"),
        ("./a//c.txt", "c"),
        ("__MACOSX/._run.sh", "x"),
        ("a/.DS_Store", "x"),
        ("a/Thumbs.db", "x"),
        ("a/._data.txt", "x"),
        (".git/config", "x"),
        ("a/__pycache__/x.pyc", "x"),
    )
    root = unpacked(source, tmp_path)
    assert tree(root) == {
        "run.sh": b"#!/bin/sh\n",
        "tool": b"\x7fELF...",
        "asked": b"x",
        "a/b/data.txt": b"data",
        "a/c.txt": b"c",
    }
    if os.name == "posix":
        modes = {path.name for path in root.iterdir() if path.stat().st_mode & 0o111}
        assert modes == {"run.sh", "tool", "asked", "a"}


BAD_ZIPS: Mapping[str, tuple[list[tuple[str | zipfile.ZipInfo, bytes | str]], str]] = {
    "zip-slip": ([("a/../../evil", "x")], "a/../../evil: a path with .. in it"),
    "slip-in-litter": ([("__MACOSX/../../evil", "x")], "__MACOSX/../../evil: a path with .."),
    "absolute": ([("/etc/evil", "x")], "/etc/evil: an absolute path"),
    "backslash": ([("a\\..\\evil", "x")], "a\\..\\evil: a backslash"),
    "drive": ([("C:evil", "x")], "C:evil: a path with a drive"),
    "unprintable": ([("a\nb", "x")], "a?b: a name with characters that can't be printed"),
    "right-to-left": ([("a\u202efdp.exe", "x")], "can't be printed"),
    "link-out": ([(entry("l", LINK), "../x")], "l: a link that leaves the folder, to ../x"),
    "link-to-etc": ([(entry("l", LINK), "/etc")], "l: a link that leaves the folder, to /etc"),
    "through-link": ([(entry("l", LINK), "."), ("l/x", "x")], "l: it is there twice"),
    "over-link": ([(entry("l", LINK), "a"), ("l", "x")], "l: it is there twice"),
    "links-together": (
        [("a/b/f", "x"), (entry("a/b/up", LINK), "../.."), (entry("m", LINK), "a/b/up/../x")],
        "m: a link that leaves the folder, to a/b/up/../x",
    ),
    "link-to-nothing": ([(entry("l", LINK), "")], "l: a link to what can't be"),
    "link-with-a-zero": ([(entry("l", LINK), "a\0b")], "l: a link to what can't be"),
    "link-to-a-long-name": ([(entry("l", LINK), "a" * 999)], "l: a link to what can't be"),
    "device": ([(entry("null", DEVICE), "")], "null: neither a file nor a folder nor a link"),
    "fifo": ([(entry("pipe", FIFO), "")], "pipe: neither a file nor a folder nor a link"),
    "case": ([("Run.py", "x"), ("run.py", "y")], "run.py: it differs from Run.py by case only"),
    "case-of-folders": ([("A/x", "x"), ("a/y", "y")], "a: it differs from A by case only"),
    "accents": ([("e\u0301", "x"), ("\u00e9", "y")], "by case only"),
    "file-and-folder": ([("a", "x"), ("a/b", "y")], "a: it is there twice"),
    "deep": ([("a/b/c/d/e", "x")], "a/b/c/d/e: more than 4 folders within each other"),
    "long-path": ([("/".join(["abcd" * 45] * 3), "x")], "too long a name"),
    "long-name": ([("a" * 201, "x")], "too long a name"),
    "many": ([(f"{n}/x", "x") for n in range(11)], "more than 20 files and folders"),
    "large-file": ([("big", os.urandom(2_001))], "big: a file of more than"),
    "large-in-all": ([(f"{n}", os.urandom(1_001)) for n in range(3)], "2: more than"),
    "bomb": ([("bomb", b"\0" * 1_900)], "bomb: a zip bomb: more than 10 times its packed size"),
}


@pytest.mark.parametrize("kind", BAD_ZIPS)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_bad_zip_is_refused_with_the_entry_named(kind: str, tmp_path: Path) -> None:
    entries, told = BAD_ZIPS[kind]
    inner = tmp_path / "inner"
    inner.mkdir()
    source = zipped(inner, *entries)
    with pytest.raises(BadSubmission) as refused:
        unpacked(source, inner, SMALL)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["inner"]
    assert sorted(path.name for path in inner.iterdir()) == ["hand in.zip", "root"]


def test_links_through_each_other_are_followed_as_far_as_can_be(tmp_path: Path) -> None:
    chain = [(entry(f"l{n}", LINK), f"l{n + 1}") for n in range(1_500)]
    with pytest.raises(BadSubmission, match="l500: more than 500 links"):
        unpacked(zipped(tmp_path, *chain), tmp_path)
    folder = tmp_path / "deeper"
    folder.mkdir()
    with pytest.raises(BadSubmission, match=r"l\d+: a link that leads through too many others"):
        unpacked(zipped(folder, *chain), folder, Bounds(links=2_000))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_zip_with_an_entry_twice_is_refused(tmp_path: Path) -> None:
    source = zipped(tmp_path, ("a", "one"), ("a", "two"))
    with pytest.raises(BadSubmission, match="a: it is there twice"):
        unpacked(source, tmp_path)


def test_bomb_is_stopped_long_before_it_is_unpacked(tmp_path: Path) -> None:
    source = zipped(tmp_path, ("bomb", bytes(60 * MIB)))
    with pytest.raises(BadSubmission, match="bomb: a zip bomb"):
        unpacked(source, tmp_path)
    assert (tmp_path / "root" / "bomb").stat().st_size <= BOUNDS.ratio * source.stat().st_size


def test_sizes_are_counted_whatever_headers_say(tmp_path: Path) -> None:
    source = zipped(tmp_path, ("lie", os.urandom(2_500)))
    raw = source.read_bytes().replace(struct.pack("<I", 2_500), struct.pack("<I", 10))
    source.write_bytes(raw)
    with pytest.raises(BadSubmission):
        unpacked(source, tmp_path, SMALL)
    assert (tmp_path / "root" / "lie").stat().st_size <= 10


def test_directory_that_is_huge_is_not_even_read(tmp_path: Path) -> None:
    count, one = 110_000, struct.pack("<4s42x", b"PK\1\2")
    size = count * len(one)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, size, 0, 0)
    source = tmp_path / "many.zip"
    source.write_bytes(one * count + end)
    with pytest.raises(BadSubmission, match="too many files and folders"):
        unpacked(source, tmp_path)


def test_encrypted_zip_is_refused(tmp_path: Path) -> None:
    source = zipped(tmp_path, ("secret", "x"))
    raw = bytearray(source.read_bytes())
    raw[raw.index(b"PK\1\2") + 8] |= 1
    source.write_bytes(raw)
    with pytest.raises(BadSubmission, match="secret: it is encrypted"):
        unpacked(source, tmp_path)


@pytest.mark.parametrize("content", [b"", b"Rar!\x1a\x07", b"PK\3\4", b"PK\5\6"])
def test_what_is_no_zip_is_refused(content: bytes, tmp_path: Path) -> None:
    source = tmp_path / "x.zip"
    source.write_bytes(content)
    with pytest.raises(BadSubmission, match=r"^x\.zip: a damaged zip, or none"):
        unpacked(source, tmp_path)


def test_damaged_zip_is_refused_however_it_is_damaged(tmp_path: Path) -> None:
    """It is a submission's problem, whichever byte is wrong, and never a crash of ours."""
    rng = random.Random(7)
    source = zipped(tmp_path, *[(f"f{n}/{n}.txt", rng.randbytes(200) + b"a" * 200) for n in "abc"])
    whole = source.read_bytes()
    refused = 0
    for number in range(400):
        raw = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        source.write_bytes(raw[: rng.randrange(len(raw))] if number % 8 == 0 else raw)
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            unpacked(source, folder)
        except BadSubmission:
            refused += 1
        assert [path.name for path in folder.iterdir()] == ["root"]
    assert refused > 200


def test_inflation_stops_at_the_size_that_is_allowed(tmp_path: Path) -> None:
    """A stored size of nearly nothing, behind which the data goes on and on."""
    data = bytes(30 * MIB)
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packed.compress(data) + packed.flush()
    source = zipped(tmp_path, ("a", b"x"))
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a"), body)
    raw = bytearray(source.read_bytes())
    for at, method, size in ((0, 8, 22), (raw.index(b"PK\1\2"), 10, 24)):
        raw[at + method : at + method + 2] = struct.pack("<H", 8)
        raw[at + size : at + size + 4] = struct.pack("<I", len(data))
    source.write_bytes(raw)
    with pytest.raises(BadSubmission, match="zip bomb"):
        unpacked(source, tmp_path)


def test_links_inside_are_kept_as_links(tmp_path: Path) -> None:
    require("posix", os.name == "posix", "symbolic links")
    links = [(entry("tool", LINK), "bin/tool"), (entry("b/up", LINK), "..")]
    root = unpacked(zipped(tmp_path, ("bin/tool", "#!x"), *links), tmp_path)
    assert tree(root) == {"bin/tool": b"#!x", "tool": "bin/tool", "b/up": ".."}


def test_folder_is_copied(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "a" / "b").mkdir(parents=True)
    (source / "a" / "b" / "x.txt").write_text("x")
    (source / "._junk").write_text("x")
    (source / "venv").mkdir()
    assert tree(copied(source, tmp_path)) == {"a/b/x.txt": b"x"}


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def _link_to_folder(path: Path) -> None:
    path.symlink_to("..")


BAD_FILES: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "link": (_link, "bad: a link that leaves the folder, to /etc/passwd"),
    "folder-link": (_link_to_folder, "bad: a link that leaves the folder, to .."),
    "fifo": (os.mkfifo, "bad: neither a file nor a folder nor a link"),
    "large": (lambda path: path.write_bytes(bytes(2_001)), "bad: a file of more than"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_bad_folder_is_refused_and_nothing_in_it_followed(kind: str, tmp_path: Path) -> None:
    require("posix", os.name == "posix", "links and pipes")
    make, told = BAD_FILES[kind]
    source = tmp_path / "source"
    source.mkdir()
    make(source / "bad")
    with pytest.raises(BadSubmission) as refused:
        copied(source, tmp_path, SMALL)
    assert told in str(refused.value)
