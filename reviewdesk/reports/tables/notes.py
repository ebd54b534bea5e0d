"""Collect notes on a table's ballots: how often something occurred, with which values."""

from __future__ import annotations

from collections.abc import Iterable

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.mapping.foreign import Remarks

_MOST_NAMED = 5
_LABELS = (
    "a word that is neither a pass nor a fail is kept as the ballot's label, without a vote; say"
    " what it means with --pass-label or --fail-label"
)
_RAW = (
    "a score outside 0..1, or on one scale with such scores, is kept as raw_score and casts no"
    " vote; say what it means with --scale LOW..HIGH"
)


class BallotNotes(Remarks):
    """Remarks on ballots, with the words, scores and judges that they concern."""

    def __init__(self) -> None:
        """Start with no remarks."""
        super().__init__()
        self._judges: set[str] = set()
        self._words: dict[str, None] = {}
        self._word_count = self._raw_count = 0
        self._lowest = self._highest = 0.0

    def judge(self, name: str) -> None:
        """Record that a judge occurs in the table."""
        self._judges.add(name)

    def label(self, word: str) -> None:
        """Count a word that decides nothing."""
        self._word_count += 1
        if len(self._words) <= _MOST_NAMED:
            self._words.setdefault(show_line(word, 40))

    def raw(self, score: float) -> None:
        """Count a score on an unknown scale."""
        if not self._raw_count:
            self._lowest = self._highest = score
        self._raw_count += 1
        self._lowest, self._highest = min(self._lowest, score), max(self._highest, score)

    def ballot_notes(self, models: Iterable[str]) -> list[str]:
        """Return the notes on words, on scores, and on ``models`` for judges that do not occur."""
        lines = []
        if self._raw_count:
            span = f"from {self._lowest:g} to {self._highest:g}"
            lines.append(f"{_RAW} ({self._raw_count}x, {span})")
        if self._word_count:
            more = ", ..." if len(self._words) > _MOST_NAMED else ""
            named = ", ".join([*self._words][:_MOST_NAMED])
            lines.append(f"{_LABELS} ({self._word_count}x): {named}{more}")
        unmet = [show_line(name, 40) for name in models if name not in self._judges]
        return [*lines, f"--models: no juror is called {', '.join(unmet)}"] if unmet else lines
