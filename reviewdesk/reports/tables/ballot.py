"""Turn the votes in a table's rows into ballots."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from reviewdesk.domain.verdict import Status
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.ballots import failure, measured, understood
from reviewdesk.reports.mapping.foreign import Remarks, UnreadWords, unmet_models
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.tables.cells import (
    CellError,
    DecidingWords,
    blank,
    is_missing,
    is_plain,
    is_word,
    likely_number,
    number,
    part_of_whole,
    stated_error,
)
from reviewdesk.reports.tables.entries import Vote
from reviewdesk.reports.wording import found, must_be

_SLACK = 1e-9
_STATUSES = frozenset(Status)
_NO_ERROR = frozenset({"false", "no", "none", "null", "0"})
_AMOUNTS = ("latency_ms", "cost_usd")
_NUMBERS = frozenset({*_AMOUNTS, "tokens_in", "tokens_out"})


_LABELS = (
    "a word that is neither a pass nor a fail is kept as the ballot's label, without a vote; say"
    " what it means with --pass-label or --fail-label"
)
_RAW = (
    "a score outside 0..1, or on one scale with such scores, is kept as raw_score and casts no"
    " vote; say what it means with --scale LOW..HIGH"
)


_UNREADABLE = "a score that cannot be read is a ballot that is not understood, without a vote"
_EMPTY = "a score that is empty or NaN is not measured, and casts no vote"


class BallotNotes(Remarks):
    """Remarks on ballots, with the words, scores and judges that they concern."""

    def __init__(self) -> None:
        """Start with no remarks."""
        super().__init__()
        self.judges: set[str] = set()
        self.words = UnreadWords(_LABELS)
        """The words that decide nothing."""
        self._raw_count = self._unreadable = 0
        self.first_unreadable = ""
        self._lowest = self._highest = 0.0

    def raw(self, score: float) -> None:
        """Count a score on an unknown scale."""
        if not self._raw_count:
            self._lowest = self._highest = score
        self._raw_count += 1
        self._lowest, self._highest = min(self._lowest, score), max(self._highest, score)

    def unreadable(self, place: str, problem: str) -> None:
        """Count a ballot whose score cannot be read."""
        self._unreadable += 1
        self.first_unreadable = self.first_unreadable or f"{place}: {problem}"

    def ballot_notes(self, models: Iterable[str]) -> list[str]:
        """Return the notes on words, on scores, and on ``models`` for judges that do not occur."""
        span = f"from {self._lowest:g} to {self._highest:g}"
        lines = [f"{_RAW} ({self._raw_count}x, {span})"] if self._raw_count else []
        if self._unreadable:
            lines.append(f"{_UNREADABLE} ({self._unreadable}x); {self.first_unreadable}")
        return [*lines, *self.words.notes(), *unmet_models(models, self.judges)]


class BallotMaker:
    """Makes the ballots of one table; ``off_scale`` tells whether a judge scores beyond 0..1."""

    def __init__(
        self,
        words: DecidingWords,
        options: ReadOptions,
        notes: BallotNotes,
        off_scale: Callable[[str, str], bool],
        is_scored: Callable[[str], bool],
    ) -> None:
        """Keep the options and the label words; ``notes`` collects remarks on changed values.

        ``is_scored`` tells whether a judge gives a score anywhere in the table.
        """
        self._words = words
        self._scale = options.scale
        self._models = options.models
        self._notes = notes
        self._off_scale = off_scale
        self._is_scored = is_scored

    def make(self, vote: Vote, place: Callable[[str], str], dimension: str = "") -> dict[str, Any]:
        """Return the canonical ballot of a vote, without an id.

        A score that cannot be read, or lies outside the given scale, gives a ballot that is not
        understood. ``place`` names the place of a column in the row.
        """
        cells = vote.cells
        self._notes.judges.add(vote.judge)
        body: dict[str, Any] = {
            "model": self._model(vote),
            "vendor": _text(cells.get("vendor")),
        }
        unread = list(vote.unread) if blank(cells.get("pass")) else ["pass", *vote.unread]
        try:
            self._add_score(body, vote, dimension)
            self._add_vote(body, vote)
        except CellError as error:
            self._notes.unreadable(place(error.column), error.problem)
            body = {**body, "score": None, "pass": None, "raw": _text(vote.score)}
            unread = [error.column]
        self._add_rest(body, cells)
        self._add_failure(body, cells)
        self._add_certainty(body, cells.get("certainty"))
        found = values.without_nulls(body, "pass")
        if is_missing(vote.score) and self._is_scored(vote.judge):
            was = found
            found = measured(found, self._notes)
            if found is not was:
                return found
        said = any(found.get(key) is not None for key in ("score", "raw_score", "label", "error"))
        if is_missing(vote.score) and not said and found.get("pass") is None and not unread:
            self._notes.count(_EMPTY)
        return understood(found, unread)

    def _model(self, vote: Vote) -> str | None:
        stated = _text(vote.cells.get("model"))
        given = self._models.get(vote.judge)
        if stated and given and stated != given:
            self._notes.count("--models: the table's own model of a judge stands")
        return stated or given

    def _add_score(self, body: dict[str, Any], vote: Vote, dimension: str) -> None:
        value = vote.score
        if blank(value):
            return
        if why := stated_error(value):
            body |= failure(why)
            return
        if (parts := part_of_whole(value)) is not None:
            self._add_part(body, vote, *parts)
            return
        try:
            stated = number(value, vote.column)
        except CellError as error:
            self._add_word(body, vote, error)
            return
        if stated is None:
            return
        if self._scale is not None:
            body["score"] = self.share(stated, vote.column)
            body["raw_score"] = stated
            body["scale"] = list(self._scale)
        elif 0 <= stated <= 1 and not self._off_scale(vote.judge, dimension):
            body["score"] = stated
        else:
            body["raw_score"] = stated
            self._notes.raw(stated)

    def _add_part(self, body: dict[str, Any], vote: Vote, part: float, whole: float) -> None:
        """Read a score such as 4/5 or 85%, which states its own scale."""
        if self._scale is not None and self._scale[1] == whole:
            body |= {"score": self.share(part, vote.column), "scale": list(self._scale)}
        elif 0 <= part <= whole:
            body |= {"score": part / whole, "scale": [0, whole]}
        else:
            raise CellError(vote.column, must_be(f"from 0 to {whole:g}", vote.score))
        body["raw_score"] = part

    def share(self, stated: float, column: str) -> float:
        """Map a raw score from the given scale to 0..1. Raise CellError if it is outside."""
        low, high = self._scale or (0.0, 1.0)
        share = (stated - low) / (high - low)
        if not -_SLACK <= share <= 1 + _SLACK:
            raise CellError(column, must_be(f"from {low:g} to {high:g} (--scale)", stated))
        return min(max(share, 0.0), 1.0)

    def _add_word(self, body: dict[str, Any], vote: Vote, error: CellError) -> None:
        """Read a score that is not a number as a vote or a label, or raise ``error``."""
        decided = self._words.vote(vote.score)
        if decided is not None:
            body["pass"] = decided
            if isinstance(vote.score, str) and not is_plain(vote.score):
                body["label"] = vote.score.strip()
            self._notes.count("a score that is a word such as PASS is read as a vote")
            return
        if not is_word(vote.score):
            raise error
        if not vote.words:
            hint = "if the word decides, give --pass-label or --fail-label"
            raise CellError(error.column, f"{error.problem}; {hint}")
        self._add_label(body, vote.score)

    def _add_label(self, body: dict[str, Any], word: str) -> None:
        body["label"] = word.strip()
        body["pass"] = None
        if status := self._words.failure(word):
            body["status"] = status
        else:
            self._notes.words.add(body["label"])

    def _add_vote(self, body: dict[str, Any], vote: Vote) -> None:
        cells = vote.cells
        stated = cells.get("pass")
        label = cells.get("label")
        if not blank(label):
            body["label"] = values.text(label)
        word = label if is_missing(stated) else stated
        if is_missing(word):
            if "pass" in cells or "label" in cells:
                body.setdefault("pass", None)
            return
        decided = self._words.vote(word)
        if decided is not None:
            body["pass"] = decided
            if isinstance(word, str) and not is_plain(word):
                body.setdefault("label", word.strip())
        elif isinstance(word, str):
            stated_label = {key: body[key] for key in ("label",) if key in body}
            self._add_label(body, word)
            body.update(stated_label)
        else:
            body["pass"] = None
            self._notes.count(f"a vote that is no word, such as {found(word)}, is left out")

    def _add_rest(self, body: dict[str, Any], cells: Any) -> None:
        body["reason"] = _text(cells.get("reason"))
        confidence = likely_number(cells.get("confidence"))
        body["confidence"] = values.unit(confidence)
        if body["confidence"] is None and not blank(cells.get("confidence")):
            self._notes.count("a confidence that is no number from 0 to 1 is left out")
        weight = likely_number(cells.get("weight"))
        body["weight"] = weight if weight and weight > 0 else None
        if body["weight"] is None and not blank(cells.get("weight")):
            self._notes.count("a weight that is not above 0 is left out")
        for key in cells.keys() & _NUMBERS:
            amount = likely_number(cells[key])
            if amount is not None and amount >= 0 and (key in _AMOUNTS or amount == int(amount)):
                body[key] = amount
        body["at"] = values.time(cells.get("at"))
        if "latency_s" in cells:
            body["latency_ms"] = values.amount(likely_number(cells["latency_s"]), 1000)
        body["temperature"] = likely_number(cells.get("temperature"))
        body.setdefault("raw", _text(cells.get("raw")))

    def _add_certainty(self, body: dict[str, Any], value: Any) -> None:
        """Read how sure a juror is of its vote: of a fail, the rest to 1 is the score."""
        sure = likely_number(value)
        if sure is None or body.get("status") not in (None, "ok"):
            return
        if self._scale is not None or values.unit(sure) is None:
            body["raw_score"] = sure
        if self._scale is not None and self._scale[0] <= sure <= self._scale[1]:
            body["scale"] = list(self._scale)
            sure = self.share(sure, "")
        elif values.unit(sure) is None:
            return
        body["confidence"] = sure
        if (vote := body.get("pass")) is not None:
            body["score"] = sure if vote else round(1 - sure, 12)

    def _add_failure(self, body: dict[str, Any], cells: Any) -> None:
        status = cells.get("status")
        if isinstance(status, str) and status.strip().lower() in _STATUSES:
            body.setdefault("status", status.strip().lower())
        message = _message(cells.get("error"))
        if message and "error" not in body:
            stated = body.get("status")
            body |= failure(message, None if stated in (None, "ok", "error") else stated)
        if body.get("status") in (None, "ok"):
            return
        if body.get("score") is not None:
            body.setdefault("raw_score", body["score"])
            del body["score"]
            self._notes.count("the score of a ballot that failed is kept as raw_score only")
        body.pop("pass", None)


def _message(stated: Any) -> str:
    """Return why a ballot failed; empty for false, null and the like, which mean no failure."""
    if blank(stated) or stated in (False, 0):
        return ""
    if isinstance(stated, str) and stated.strip().lower() in _NO_ERROR:
        return ""
    return "the juror failed" if stated is True else (_text(stated) or "the juror failed")


def _text(value: Any) -> str | None:
    return None if blank(value) else values.text(value)
