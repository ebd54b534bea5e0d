"""The files of a shared place, each taken or refused by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from msgspec import Struct

from reviewdesk.desk.team.merge import ASK
from reviewdesk.desk.team.run_files import AGAIN, UPDATE
from reviewdesk.desk.team.shared_folder import LARGER, PlaceProblem, SharedFile, SharedFolder
from reviewdesk.domain.labels.chain import ChainProblem
from reviewdesk.domain.labels.chain_file import NEWER
from reviewdesk.errors import ChainError, ReportError

_IN_MEMORY = 4 << 20


class RefusedFile(Struct, frozen=True):
    """A file of the place that was not taken: which, what is wrong with it, and what to do."""

    file: str
    problem: str
    hint: str


@dataclass(slots=True)
class PlaceFiles:
    """Reads the files of a place; keeps which were refused, and what else a person should know."""

    place: SharedFolder
    refused: dict[str, RefusedFile] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def named(self, folder: str, fits: Callable[[str], object]) -> list[SharedFile]:
        """Return the files of a folder by name; those that we do not write are left alone."""
        found = []
        for entry in self.place.entries(folder):
            name = entry.name.removeprefix(f"{folder}/")
            if fits(name):
                found.append(entry)
            elif not name.rpartition("/")[2].startswith("."):
                self.notes.append(f"{entry.name}: is no file of a desk, left alone")
        return sorted(found, key=lambda one: one.name)

    @contextmanager
    def copied(self, entry: SharedFile, most: int) -> Iterator[BinaryIO]:
        """Copy a file, so that what is checked is what is taken.

        Raises:
            PlaceProblem: it cannot be read, or has more than ``most`` bytes.
        """
        if entry.problem:
            raise PlaceProblem(entry.problem)
        if entry.size > most:
            raise PlaceProblem(LARGER)
        with spool() as file:
            self.place.copy(entry.name, file, most)
            file.seek(0)
            yield file

    @contextmanager
    def refusing(self, entry: SharedFile, hint: str) -> Iterator[None]:
        """Note what is wrong with a file, so that the others are taken nevertheless."""
        try:
            yield
        except ChainError as error:
            self._refuse(entry, error.message, hint if error.hint == ASK else error.hint)
        except ChainProblem as error:
            self._refuse(entry, str(error), UPDATE if error.text == NEWER else hint)
        except ReportError as error:
            todo = UPDATE if error.hint == UPDATE else AGAIN
            self._refuse(entry, error.message.removeprefix(f"{entry.name}: "), todo)
        except PlaceProblem as error:
            self._refuse(entry, str(error), error.hint or hint)

    def _refuse(self, entry: SharedFile, problem: str, hint: str) -> None:
        self.refused[entry.name] = RefusedFile(entry.name, problem, hint)


def spool() -> BinaryIO:
    """Return a file for a while, in memory as long as it is small."""
    return cast("BinaryIO", SpooledTemporaryFile(_IN_MEMORY, prefix="reviewdesk-"))
