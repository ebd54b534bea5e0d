"""What became of the calls to each juror, as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from reviewdesk.domain.safetext import show_line

if TYPE_CHECKING:
    from reviewdesk.domain.panel.turnout import Turnout, Turnouts


def turnout_lines(found: Turnouts) -> Iterator[str]:
    """Write a line for each juror, then what the first fault of each kind says."""
    for one in found.by_juror.values():
        yield f"juror {show_line(one.juror, 40)}: {_turnout(one)}"
    for kind in found.why:
        if found.messages[kind]:
            yield f"{_words(kind)}: {show_line(found.messages[kind], 300)}"


def counted(kinds: Mapping[str, int]) -> str:
    """Write how often each kind of fault came, such as ``2 truncated, 1 rate limited``."""
    return ", ".join(f"{count:,} {_words(kind)}" for kind, count in kinds.items())


def _turnout(one: Turnout) -> str:
    parts = [f"{one.answered:,} answered"]
    parts += [f"{one.abstained:,} abstained"] if one.abstained else []
    parts += [f"{one.failed:,} failed ({counted(one.why)})"] if one.failed else []
    return ", ".join(parts)


def _words(kind: str) -> str:
    return show_line(kind.replace("_", " "), 60)
