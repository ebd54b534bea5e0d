"""Decode verdicts that are standard JSON and fit the models, several times faster than the rest.

What is not clean at first sight (a doubled or unknown key, a number that overflows, a lone
surrogate) is left to the strict decoder and to the models, which word what is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import msgspec

from reviewdesk.domain.run.counting import count_of
from reviewdesk.reports.bytes.strict_json import MAX_DEPTH, NonStandardJsonError, decode
from reviewdesk.reports.bytes.window import TextLine, Window
from reviewdesk.reports.canonical.types import PLAIN, is_of, plain_type, verdict_type
from reviewdesk.reports.report import PlainVerdicts, ReportVerdict

UNCLEAN = (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError)
_FREE = frozenset({"meta", "labels", "samples"})
_LONG = re.compile(rb"\d{19}")


Decode: TypeAlias = Callable[[bytes], list[dict[str, Any]]]


class CleanVerdict(NamedTuple):
    """A verdict that fits the models, and whether no further rule is about it."""

    value: dict[str, Any]
    plain: bool


def clean_verdict(data: bytes) -> CleanVerdict | None:
    """Return the verdict that a JSON text holds, or None if it is not clean."""
    found = _decoded(b"[%b]" % data, _decoder())
    if found is None or len(found) != 1:
        return None
    (verdict,) = found
    jurors = verdict["jurors"]
    seen = set(verdict).union(*jurors)
    if seen <= PLAIN:
        return CleanVerdict(verdict, has_unique_jurors(verdict))
    # The models refuse an answer beside an error; free data may nest deep and hold any number.
    free = not _FREE.isdisjoint(seen)
    deep = free and data.count(b"{") + data.count(b"[") > MAX_DEPTH
    unclean = deep or "error" in seen or (free and _LONG.search(data))
    return None if unclean else CleanVerdict(verdict, plain=False)


def _decoded(data: bytes, decoder: Decode) -> list[dict[str, Any]] | None:
    """Return the verdicts of a list, or None if one does not fit the models.

    The types forget unknown and doubled keys, so that a text with any has more quotes around its
    keys and texts than the verdicts have when they are written again.
    """
    try:
        found = decoder(data)
        written = msgspec.json.encode(found)
    except UNCLEAN:
        return None
    return found if _quotes(data) == _quotes(written) else None


def _quotes(data: bytes) -> int:
    """Count the quotes around the keys and texts of a JSON text."""
    found = count_of('"', data)
    return found - data.replace(b"\\\\", b"").count(b'\\"') if b"\\" in data else found


def has_unique_jurors(verdict: dict[str, Any]) -> bool:
    """Return True if no two jurors of a verdict have the same id."""
    jurors = verdict["jurors"]
    return len({one["id"] for one in jurors}) == len(jurors)


class VerdictList(Window):
    """A position in a canonical report, whose list of verdicts is decoded many at a time."""

    def verdicts(self) -> Iterator[ReportVerdict | PlainVerdicts]:
        """Yield the elements of the list here, those that are clean with their JSON."""
        index = 0
        for _ in self.elements():
            origin = f"$.verdicts[{index}]"
            first = self.value(origin)
            yield ReportVerdict("", first, origin, plain=_is_plain(first))
            index += 1
            for found in self._run(index):
                yield found
                index += len(found.values) if isinstance(found, PlainVerdicts) else 1

    def _run(self, index: int) -> Iterator[ReportVerdict | PlainVerdicts]:
        """Step over the elements that follow, up to one that is not standard JSON."""
        while (following := self._following())[0]:
            every, end = [bytes(one) for one in following[0]], following[1]
            if found := plain_verdicts(every, index):
                self._at = end
                yield found
            else:
                for place, data in enumerate(every):
                    one = self._one(data, f"$.verdicts[{index + place}]")
                    if one is None:
                        for before in every[:place]:
                            self._step_over(before.decode())
                        return  # met again, and worded, where it stands
                    yield one
                self._at = end
            index += len(every)

    def _one(self, data: bytes, origin: str) -> ReportVerdict | None:
        """Return the verdict that a JSON text holds, or None if it is not standard JSON."""
        if clean := clean_verdict(data):
            return ReportVerdict("", clean.value, origin, None, data, clean.plain)
        try:
            return ReportVerdict("", decode(data.decode(), 0, self._tally)[0], origin)
        except (json.JSONDecodeError, NonStandardJsonError):
            return None


def plain_lines(lines: list[TextLine]) -> PlainVerdicts | None:
    """Return the verdicts that lines hold, or None unless all of them are plain, one on a line."""
    every = [line.data.strip(b" \t\r\n") for line in lines]
    try:
        values = _VALUES.decode(b"[%b]" % b",".join(every))
    except UNCLEAN:
        return None
    if [bytes(one) for one in values] != every:
        return None
    found = plain_verdicts(every, 0)
    return None if found is None else found._replace(lines=[line.number for line in lines])


_VALUES = msgspec.json.Decoder(list[msgspec.Raw])


def plain_verdicts(every: list[bytes], index: int) -> PlainVerdicts | None:
    """Return the verdicts of a file from ``index``, or None unless all of them are plain."""
    found = _decoded(b"[%b]" % b",".join(every), _plain_decoder())
    if found is None or not all(map(has_unique_jurors, found)):
        return None
    return PlainVerdicts(found, every, index)


def _is_plain(verdict: Any) -> bool:
    """Return True if a verdict that was read strictly is plain and has no null."""
    return is_of(verdict, plain_type()) and has_unique_jurors(verdict)


@lru_cache(maxsize=1)
def _decoder() -> Decode:
    return _decoder_of(verdict_type())


@lru_cache(maxsize=1)
def _plain_decoder() -> Decode:
    return _decoder_of(plain_type())


def _decoder_of(verdict: Any) -> Decode:
    return msgspec.json.Decoder(list.__class_getitem__(verdict)).decode
