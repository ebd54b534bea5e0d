"""Second opinions: which items two people label, and whose label is kept from the second one."""

from __future__ import annotations

import hashlib
from collections.abc import Set as AbstractSet

from msgspec import Struct

_SEED = b"second opinion\n"


def is_double(item: bytes, share: float) -> bool:
    """Return True if an item is among the ``share`` of all that two people label.

    The first eight bytes of sha256 over a constant and the content's hash, read as a number from 0
    to 1, lie below the share. So the choice is the same on every desk and in every run, and a
    larger share adds items and takes none away.
    """
    digest = hashlib.sha256(_SEED + item.hex().encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64


class Withheld(Struct, frozen=True):
    """The items of which one other person alone gave a label that the reviewer must not see yet.

    Of those ``waiting`` the reviewer's own label is asked for, so for the reviewer they have none.
    All ``others`` are decided, but what they were labelled is not told.
    """

    reviewer: str = ""
    waiting: AbstractSet[bytes] = frozenset()
    others: AbstractSet[bytes] = frozenset()

    def __bool__(self) -> bool:
        """Return True if anything is withheld."""
        return bool(self.waiting or self.others)

    def hides(self, item: bytes) -> bool:
        """Return True if what others gave an item is not told."""
        return item in self.waiting or item in self.others

    def shows(self, item: bytes, author: str) -> bool:
        """Return True if what a person gave an item may be told."""
        return author == self.reviewer or not self.hides(item)


NOTHING = Withheld()
"""Nothing is withheld, as from the shell."""
