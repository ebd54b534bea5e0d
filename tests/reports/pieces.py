"""Streams that give their bytes in pieces, and sources of such streams."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import BinaryIO

from reviewdesk.reports.bytes.source import Source


class Pieces(io.BytesIO):
    """Gives no more at once than the next of some sizes, over and over."""

    def __init__(self, data: bytes, sizes: Sequence[int]) -> None:
        super().__init__(data)
        self._sizes = cycle(sizes)

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = -1 if size is None else size
        piece = next(self._sizes)
        return super().read(piece if wanted < 0 else min(wanted, piece))


@dataclass(frozen=True)
class PieceSource(Source):
    """A source whose streams come in pieces."""

    sizes: Sequence[int] = (1,)

    @staticmethod
    def of(name: str, data: bytes, sizes: Sequence[int]) -> PieceSource:
        return PieceSource(name, len(data), sizes=sizes, _data=data)

    def open(self) -> BinaryIO:
        with super().open() as stream:
            return Pieces(stream.read(), self.sizes)
