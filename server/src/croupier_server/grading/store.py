"""What a run that was cut off goes on from: the evidence of each stage, below the results.

A stage's evidence counts only under the key that it was found with: of the submission, of all in
the rubric that decides this evidence, of the seed, and of this version. Points and titles are not
in it, so that a rubric can be weighed anew without a game.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

from croupier_common.jsontypes import is_object, is_whole
from croupier_server.errors import UserError
from croupier_server.grading.evidence import Evidence
from croupier_server.grading.kept import dumped, loaded
from croupier_server.grading.results.writing import write_atomic

__all__ = ["Store", "digest"]

T = TypeVar("T")

FOLDER: Final = ".grading"

_WHOLE: Final = "evidence.json"
_RUN: Final = "run.json"
_RUBRIC: Final = "rubric.toml"


def digest(*parts: str | int) -> str:
    """A key made of some parts."""
    return sha256(json.dumps(parts).encode()).hexdigest()


class Store:
    """The kept evidence of one folder of results.

    Attributes:
        folder: where it is; nobody else may look into it.
    """

    def __init__(self, out: Path) -> None:
        self.folder = out / FOLDER

    @property
    def rubric(self) -> Path:
        """Where the rubric of the last run is."""
        return self.folder / _RUBRIC

    def make(self) -> None:
        """Make the folder, if there is none.

        Raises:
            UserError: it can't be made, or not be written.
        """
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.folder.mkdir(exist_ok=True, mode=0o700)
            self.folder.chmod(0o700)
            probe = self.folder / "probe"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as problem:
            raise UserError(f"--out {self.folder.parent}: {problem.strerror}") from None

    @contextmanager
    def lock(self) -> Generator[None]:
        """Have the folder for oneself, where the system can do that.

        Raises:
            UserError: another run is at work there.
        """
        try:
            import fcntl
        except ImportError:  # Windows
            yield
            return
        with (self.folder / "lock").open("wb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UserError(
                    f"--out {self.folder.parent}: another croupier grade is at work there"
                ) from None
            yield

    def forget(self) -> None:
        """Forget all evidence, but not the seed."""
        for path in self.folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)

    # -- the run

    def seed(self, given: int | None) -> int:
        """The seed of this run: the given one, that of the last run, or a new one; it is kept."""
        seed = self._kept_seed() if given is None else given
        if seed is None:
            seed = int.from_bytes(os.urandom(7), "big")
        write_atomic(self.folder / _RUN, json.dumps({"seed": seed}) + "\n")
        return seed

    def _kept_seed(self) -> int | None:
        with suppress(OSError, ValueError):
            kept: object = json.loads((self.folder / _RUN).read_text(encoding="utf-8"))
            seed = kept.get("seed") if is_object(kept) else None
            return seed if is_whole(seed) else None
        return None

    def put_rubric(self, text: str) -> None:
        """Keep the rubric of this run, for who wants its points explained later."""
        write_atomic(self.rubric, text)

    # -- stages

    def place(self, name: str) -> Path:
        """The folder of a submission, made if there is none."""
        place = self.folder / name
        place.mkdir(exist_ok=True, mode=0o700)
        return place

    def find(self, name: str, stage: str, key: str, kind: type[T]) -> T | None:
        """The evidence of a stage under a key, if there is such."""
        try:
            kept: object = json.loads((self._stage(name, stage)).read_text(encoding="utf-8"))
            if not is_object(kept) or kept.get("key") != key:
                return None
            return loaded(kind, json.dumps(kept.get("value")))
        except (OSError, ValueError):
            return None

    def put(self, name: str, stage: str, key: str, value: object) -> None:
        """Keep the evidence of a stage."""
        text = f'{{"key":{json.dumps(key)},"value":{dumped(value)}}}\n'
        self.place(name)
        # if the machine ends here and the file is damaged, the stage is done again
        write_atomic(self._stage(name, stage), text, lasts=False)

    def _stage(self, name: str, stage: str) -> Path:
        return self.folder / name / f"{stage_file(stage)}.json"

    # -- all of a submission

    def evidence(self, name: str) -> Evidence | None:
        """All that is known of a submission, as of the last run."""
        try:
            return loaded(Evidence, (self.folder / name / _WHOLE).read_bytes())
        except (OSError, ValueError):
            return None

    def put_evidence(self, evidence: Evidence) -> None:
        """Keep all that is known of a submission."""
        name = evidence.intake.name
        self.place(name)
        write_atomic(self.folder / name / _WHOLE, dumped(evidence), lasts=False)

    def names(self) -> Sequence[str]:
        """The submissions of which something is known, sorted."""
        with suppress(OSError):
            return sorted(path.parent.name for path in self.folder.glob(f"*/{_WHOLE}"))
        return ()


def stage_file(stage: str) -> str:
    """What the files of a stage are called."""
    return re.sub(r"[^\w.-]+", "_", stage)
