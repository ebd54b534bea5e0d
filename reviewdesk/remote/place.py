"""A shared place that holds files by name: what a folder, a work tree and an address have alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Protocol

from reviewdesk.errors import DeskError
from reviewdesk.frozen import Frozen

MOST_FILES = 100_000
"""The most files of a place that are looked at."""
BLOCK = 1 << 20
LARGER = "is larger than its kind of file may be"


class SharedFile(Frozen):
    """A file of a place: its name, in which ``/`` parts folders, and its size in bytes."""

    name: str
    size: int
    problem: str = ""
    """Why it is not read, if it is none that may be."""


class PlaceProblem(ValueError):
    """A file of a place is not taken; the text says what was found, the hint what to do."""

    def __init__(self, text: str, hint: str = "") -> None:
        """Keep the hint apart; it is empty where what is in the file is wrong."""
        self.hint = hint
        super().__init__(text)


def unreadable(reason: str) -> PlaceProblem:
    """Return the problem of a file that could not be read, whatever is in it."""
    hint = "Check the connection and whether you may read it, and sync again."
    return PlaceProblem(f"cannot be read: {reason}", hint)


class SharedPlace(Protocol):
    """Files that several machines share. Each is written whole, and none is ever deleted."""

    address: str

    def fetch(self) -> None:
        """Bring here what others have put, where that takes a step of its own.

        Raises:
            DeskError: the place cannot be reached.
        """

    def publish(self) -> bool:
        """Show to others what was put, where that takes a step of its own.

        Return False if others did so first, and what they put must be fetched before.

        Raises:
            DeskError: the place cannot be reached.
        """

    def entries(self, folder: str) -> Iterator[SharedFile]:
        """Yield the files of a folder and of the folders in it, in no order.

        Raises:
            DeskError: the place cannot be read.
        """

    def copy(self, name: str, into: BinaryIO, most: int) -> None:
        """Copy the bytes of a file, of which there may be ``most``.

        Raises:
            PlaceProblem: it cannot be read, or is larger.
        """

    def put(self, name: str, given: BinaryIO) -> None:
        """Write a file whole, in the place of one of that name.

        Raises:
            DeskError: it cannot be written.
        """


def copy_bounded(given: BinaryIO, into: BinaryIO, most: int) -> None:
    """Copy a stream of at most so many bytes; raise PlaceProblem if there are more."""
    while block := given.read(BLOCK):
        most -= len(block)
        if most < 0:
            raise PlaceProblem(LARGER)
        into.write(block)


def refuse_crowd(address: str, count: int) -> None:
    """Raise DeskError if a place holds more files than are looked at."""
    if count > MOST_FILES:
        raise DeskError(
            f"{address}: holds more than {MOST_FILES:,} files",
            "Give your team a folder of its own.",
        )
