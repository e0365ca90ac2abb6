"""Records that earlier versions wrote: later ones read them, and write the very same bytes.

A record in `data/records` is never written anew. What can't read one of them needs another format.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from croupier_common.events import event_from_json
from croupier_common.record import Record, RecordWriter, read_record, replay

FOLDER = Path(__file__).parent / "data" / "records"

DIGESTS = {
    "classic": "df8b072f08ba4cd109468d9a48c4e2645ef2d56b6174de90874a79c097677bce",
    "fish": "403ad23a2d77800ed42525b5dea9ec6c08e4f38702cacd12f169d547c11871ff",
    "interrupted": "f61721bdc3027602917bf726f9f331db960f78603ad03f63e689fea2c213152e",
    "options": "006e350991ee7f3371ba1d82bb9572f3066ce9f04d58e4ece21a00183d366a5b",
}


def golden(name: str) -> tuple[list[bytes], Record]:
    with (FOLDER / f"{name}.jsonl").open("rb") as file:
        lines = list(file)
    return lines, read_record(lines)


def test_golden_records_have_every_kind_of_event() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(DIGESTS)
    told = {line.event["kind"] for name in DIGESTS for line in golden(name)[1].lines}
    assert told == {
        *("start", "place", "move", "skip", "lift", "sink", "credit", "eject", "end"),
        "interrupted",
    }


@pytest.mark.parametrize("name", DIGESTS)
def test_golden_record_is_read_and_played_again(name: str) -> None:
    _, record = golden(name)
    assert record.digest == DIGESTS[name]
    assert (replay(record).outcome is None) is record.is_interrupted is (name == "interrupted")


@pytest.mark.parametrize("name", DIGESTS)
def test_golden_record_is_written_as_it_was(name: str) -> None:
    lines, record = golden(name)
    written: list[str] = []
    writer = RecordWriter(written.append)
    writer.header(record.header, record.lines[0].obs)
    for line in record.lines[1:]:
        event = event_from_json(line.event)
        if event is None:
            writer.interrupted(line.obs["reason"])
        else:
            writer.event(event, line.obs)
    assert "".join(written).encode() == b"".join(lines)
