"""The pairs of a run's jurors as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reviewdesk.cli.plain.text import number
from reviewdesk.cli.plain.whatif import aligned
from reviewdesk.domain.safetext import show_line

if TYPE_CHECKING:
    from reviewdesk.domain.jurors.pairs import Alike, JurorPair

_HEAD = ("both voted", "alike", "by chance", "z", "earlier", "later", "equal scores", "jurors")
_NOTE = (
    "by chance: what independent jurors of these pass rates would show. Jurors that judge the\n"
    "           same truth agree beyond it too: look at pairs that stand out, or begin to\n"
    "           (earlier and later are the halves of the run)"
)
_MOST = 20
"""The most pairs that are printed; the JSON has more."""


def table(found: Sequence[JurorPair]) -> str:
    """Return how often each pair votes alike, the pairs with the most common verdicts first."""
    if not found:
        return ""
    rest = len(found) - _MOST
    more = [f"{rest} more pairs in --json"] if rest > 0 else []
    return "\n".join(["", aligned(_HEAD, [_row(one) for one in found[:_MOST]]), _NOTE, *more])


def _row(one: JurorPair) -> list[str]:
    names = f"{show_line(one.first, 100)}, {show_line(one.second, 100)}"
    return [
        str(one.votes.n),
        number(one.votes.share),
        number(one.votes.expected),
        number(one.votes.z, 1),
        *map(_half, one.halves),
        f"{one.equal_scores}/{one.scored}",
        names,
    ]


def _half(half: Alike) -> str:
    return f"{number(half.share, 2)} ({number(half.expected, 2)})"
