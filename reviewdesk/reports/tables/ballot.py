"""Turn the votes in a table's rows into ballots."""

from array import array
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import convert

from reviewdesk.domain.run.columns import counted_keys
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Status
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import (
    JUROR_LENGTH,
    LateFactError,
    LateFacts,
    Remarks,
    failure,
    juror_ids,
    measured,
    model_notes,
    understood,
)
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.tables.cells import (
    NEITHER,
    CellError,
    Cells,
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
from reviewdesk.reports.tables.entries import MapReader, TableEntry
from reviewdesk.reports.tables.rows import Layout, TableRow
from reviewdesk.reports.tables.table_map import Ballot, TableMap, Vote
from reviewdesk.reports.wording import JsonObject, Path, found, must_be

_SLACK = 1e-9
_STATUSES = frozenset(Status)


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
_MOST_NAMED = 5
_SENTENCE = 3  # words, which may say of a response what it failed to do
_MOST_EARLY = 10_000

Key: TypeAlias = tuple[str, str]


class BallotNotes(Remarks):
    """Remarks on ballots, with the words and scores that they concern."""

    def __init__(self) -> None:
        super().__init__()
        self._words: dict[str, None] = {}
        """The first words that mean neither pass nor fail."""
        self._word_count = 0
        self._raw: list[float] = []
        self._raw_count = self._unreadable = 0
        self.first_unreadable = ""
        self._stated: dict[str, None] = {}

    def remark(self, kind: str, what: Any, place: Callable[[str], str]) -> None:
        """Count one remark on a vote; ``place`` names the place of a column in the row."""
        if kind == "raw":
            self._raw_count += 1
            self._raw = [min([what, *self._raw]), max([what, *self._raw])]
        elif kind == "word":
            self._word_count += 1
            if len(self._words) <= _MOST_NAMED:
                self._words.setdefault(show_line(what, 40))
        elif kind == "model":
            self._stated.setdefault(show_line(what, 40))
        elif kind == "unreadable":
            self._unreadable += 1
            self.first_unreadable = self.first_unreadable or f"{place(what[0])}: {what[1]}"
        else:
            self.count(what)

    def ballot_notes(self, models: Iterable[str], judges: Container[str]) -> list[str]:
        """Return the notes on words, on scores, and on ``models`` that belong to no judge."""
        lines = []
        if self._raw:
            span = "from {:g} to {:g}".format(*self._raw)
            lines.append(f"{_RAW} ({self._raw_count}x, {span})")
        if self._unreadable:
            lines.append(f"{_UNREADABLE} ({self._unreadable}x); {self.first_unreadable}")
        if self._words:
            named = ", ".join([*self._words][:_MOST_NAMED])
            more = ", ..." if len(self._words) > _MOST_NAMED else ""
            lines.append(f"{_LABELS} ({self._word_count}x): {named}{more}")
        return lines + model_notes(models, judges, self._stated)


class TableSurvey:
    """The results of a first pass over the rows: how often keys recur, by their hashes, and scales.

    Consecutive rows with one key are a run. If ``streamed``, the rows are surveyed as they are
    read, and a key or an item that recurs elsewhere is a LateFactError.
    """

    def __init__(
        self,
        *,
        scale_by_judge: bool,
        scored: bool | None = None,
        streamed: bool = False,
    ) -> None:
        self.streamed = streamed
        self.apart = self.total = 0
        self.runs: dict[int, int] = {}
        """The number of runs of each key that recurs, by its hash."""
        self._several: set[int] = set()
        self._early: set[int] = set()
        """The hashes of the first items, by which most files that need a survey are found soon."""
        self._keys = array("q")
        self._items = array("q")
        self._last: Sequence[Key] = ()
        self._by_judge = scale_by_judge
        self._off = LateFacts()
        """The judges or questions with a score outside 0..1; their best score may not be 1."""
        self.judges: set[str] = set()
        self._scored = LateFacts()
        self._all_scored = scored

    def add(self, entries: Sequence[TableEntry]) -> None:
        keys: list[Key] = []
        for item, ballots, _ in entries:
            key = item.key
            if key not in self._last:
                self._keys.append(hash(key))
                self._items.append(named := hash(key[0]))
                if len(self._early) < _MOST_EARLY and named not in self._early:
                    self._early.add(named)
                elif self.streamed and key[0] in [one[0] for one in (*self._last, *keys)]:
                    self._several.add(named)
                elif self.streamed and named in self._early:
                    raise LateFactError
            keys.append(key)
            self.add_votes(ballots)
        self._last = keys

    def add_votes(self, ballots: Sequence[Ballot]) -> None:
        """Record the judges and the scores of ballots that were not surveyed before."""
        for vote, _ in ballots:
            if vote.surveyed:
                continue
            vote.surveyed = True
            self.judges.add(vote.judge)
            score = likely_number(vote.score)
            if score is not None and not 0 <= score <= 1:
                self._off.add(vote.judge if self._by_judge else vote.dimension)
            if score is not None or part_of_whole(vote.score):
                self._scored.add(f"{vote.dimension}\0{vote.judge}")

    def close(self) -> None:
        """Count the verdicts after all rows were added."""
        self.total, self.runs, several = counted_keys(self._keys, self._items)
        self.apart = len(self._keys) - self.total
        self._keys = self._items = array("q")
        if self.streamed and (self.apart or several != self._several or not self.total):
            raise LateFactError
        self._several = several

    def several(self, item: str) -> bool:
        return hash(item) in self._several

    def off_scale(self, judge: str, dimension: str = "") -> bool:
        """Return True if a score of this question (in a tool's table: judge) is outside 0..1."""
        return self._off.holds(judge if self._by_judge else dimension)

    def is_scored(self, judge: str, dimension: str) -> bool:
        """Return True if the judge scores the question anywhere: its pass follows from scores."""
        known = self._all_scored
        return self._scored.holds(f"{dimension}\0{judge}") if known is None else known


class BallotMaker:
    """Makes the ballots of one file; ``keeps_outside`` keeps a score outside the scale as raw."""

    def __init__(
        self,
        seen: TableSurvey,
        options: ReadOptions,
        made: TableMap,
        notes: BallotNotes,
        *,
        keeps_outside: bool = False,
    ) -> None:
        self._keeps_outside = keeps_outside
        self.words = DecidingWords(options)
        self._any_word = bool(made.name or options.pass_labels or options.fail_labels)
        """Whether a score may be any word, because no other cell can hold a label."""
        self._scale = options.scale
        if self._scale is None and made.scale is not None and len({*made.scale}) == 2:
            self._scale = made.scale[0], made.scale[-1]  # the best score may be the lowest one
        scales = {} if options.scale else made.scales
        self._scales = {name: (one[0], one[-1]) for name, one in scales.items()}
        self._models = options.models
        self._seen = seen
        self._notes = notes
        self._remarks: list[tuple[str, Any]] = []

    def ballot(self, vote: Vote, own: JsonObject, row: TableRow) -> JsonObject:
        """Return a vote's ballot, its judge as id; ``own`` loses a raw answer that both have."""
        made = vote.made or self._make(vote)
        for kind, what in vote.remarks:
            self._notes.remark(kind, what, row.at)
        if "raw" in own and "raw" in made:
            del own["raw"]
        return made

    def threshold(self, value: Any) -> float | int | None:
        """Return a threshold on the scale from 0 to 1, or None."""
        stated = likely_number(value)
        if stated is None or self._scale is None:
            return values.unit(stated)
        try:
            return _share(stated, "", self._scale)
        except CellError:
            return None

    def _make(self, vote: Vote) -> JsonObject:
        """Store the ballot and its remarks in the vote; a bad score makes it not understood."""
        self._remarks = []
        body: JsonObject = {"raw": vote.cells["raw"]} if "raw" in vote.cells else {}
        stated = _text(vote.cells.get("model"))
        given = self._models.get(vote.judge)
        if stated and given and stated != given:
            self._remarks.append(("model", vote.judge))
        unread = list(vote.unread) if is_missing(vote.cells.get("pass")) else ["pass", *vote.unread]
        try:
            self._add_score(body, vote)
            self._add_vote(body, vote)
        except CellError as error:
            self._remarks.append(("unreadable", (error.column, error.problem)))
            body = {"raw": _text(vote.score)}
            unread = [error.column]
        body = {
            "id": vote.judge[:JUROR_LENGTH],
            "model": stated or given,
            "vendor": _text(vote.cells.get("vendor")),
            **body,
        }
        sure = likely_number(vote.cells.get("confidence"))
        weight = likely_number(vote.cells.get("weight"))
        body["confidence"] = values.unit(sure)
        body["weight"] = weight if weight and weight > 0 else None
        for role, what in (("confidence", "not a number from 0 to 1"), ("weight", "not above 0")):
            if body[role] is None and not blank(vote.cells.get(role)):
                self._count(f"a {role} that is {what} is left out")
        self._add_failure(body, vote.cells)
        sure = likely_number(vote.cells.get("certainty"))
        self._add_certainty(body, sure, self._scale_of(vote))
        made = values.without_nulls(body, "pass")
        if is_missing(vote.score):
            known = self._seen.is_scored(vote.judge, vote.dimension)
            scored = measured(made, self._count) if known else made
            answers = ("score", "raw_score", "label", "error", "pass")
            if scored is not made:
                unread = []
            elif not unread and all(made.get(key) is None for key in answers):
                self._count(_EMPTY)
            made = scored
        vote.made = understood(made, unread)
        vote.remarks = tuple(self._remarks)
        return vote.made

    def _count(self, sentence: str) -> None:
        self._remarks.append(("count", sentence))

    def _add_score(self, body: JsonObject, vote: Vote) -> None:
        value = vote.score
        scale = self._scale_of(vote)
        if why := stated_error(value):
            body |= failure(why)
            return
        if (parts := part_of_whole(value)) is not None:
            # A score such as 4/5 or 85% states its own scale.
            part, whole = parts
            if scale is not None and scale[1] == whole:
                body |= {"score": _share(part, vote.column, scale), "scale": list(scale)}
            elif 0 <= part <= whole:
                body |= {"score": part / whole, "scale": [0, whole]}
            else:
                raise CellError(vote.column, must_be(f"from 0 to {whole:g}", value))
            body["raw_score"] = part
            return
        try:
            stated = number(value, vote.column)
        except CellError as error:
            self._add_word(body, vote, error)
            return
        if stated is None:
            return
        if scale is not None:
            low, high = scale
            if self._keeps_outside and not low <= stated <= high:
                self._count("a score outside the given scale is kept as raw_score alone")
            else:
                body["score"] = _share(stated, vote.column, scale)
            body["raw_score"] = stated
            body["scale"] = [low, high]
        elif 0 <= stated <= 1 and not self._seen.off_scale(vote.judge, vote.dimension):
            body["score"] = stated
        else:
            body["raw_score"] = stated
            self._remarks.append(("raw", stated))

    def _scale_of(self, vote: Vote) -> tuple[float, float] | None:
        """Return the scale of a vote's question; None if scores are from 0 to 1, or unknown."""
        return self._scales.get(vote.dimension, self._scale)

    def _add_word(self, body: JsonObject, vote: Vote, error: CellError) -> None:
        decided = self.words.vote(vote.score)
        if decided is not None:
            body["pass"] = decided
            if isinstance(vote.score, str) and not is_plain(vote.score):
                body["label"] = vote.score.strip()
            self._count("a score that is a word such as PASS is read as a vote")
            return
        if not is_word(vote.score):
            raise error
        known = self.words.failure(vote.score) is not None or NEITHER.search(vote.score)
        if not (self._any_word or known):
            hint = "if the word decides, give --pass-label or --fail-label"
            raise CellError(error.column, f"{error.problem}; {hint}")
        self._add_label(body, vote.score)

    def _add_label(self, body: JsonObject, word: str) -> None:
        body["label"] = word.strip()
        body["pass"] = None
        if status := self.words.failure(word):
            body["status"] = status
        elif stated_error(word) and len(word.split()) < _SENTENCE:
            body |= failure(word)
        else:
            self._remarks.append(("word", body["label"]))

    def _add_vote(self, body: JsonObject, vote: Vote) -> None:
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
        decided = self.words.vote(word)
        if decided is not None:
            body["pass"] = decided
            if isinstance(word, str) and not is_plain(word):
                body.setdefault("label", word.strip())
        elif isinstance(word, str):
            shown = body.get("label", word.strip())
            self._add_label(body, word)
            body["label"] = shown
        else:
            body["pass"] = None
            self._count(f"a vote that is not a word, such as {found(word)}, is left out")

    def _add_certainty(
        self, body: JsonObject, sure: float | None, scale: tuple[float, float] | None
    ) -> None:
        """Read how sure a juror is of its vote; for a fail, the score is 1 minus that."""
        if sure is None or body.get("status") not in (None, "ok"):
            return
        if scale is not None or values.unit(sure) is None:
            body["raw_score"] = sure
        if scale is not None and min(scale) <= sure <= max(scale):
            body["scale"] = list(scale)
            sure = _share(sure, "", scale)
        elif values.unit(sure) is None:
            return
        body["confidence"] = sure
        if (vote := body.get("pass")) is not None:
            body["score"] = sure if vote else round(1 - sure, 12)

    def _add_failure(self, body: JsonObject, cells: Mapping[str, Any]) -> None:
        status = cells.get("status")
        if isinstance(status, str) and status.strip().lower() in _STATUSES:
            body.setdefault("status", status.strip().lower())
        message, kind = _message(cells.get("error"))
        if message and "error" not in body:
            stated = body.get("status")
            body |= failure(message, None if stated in (None, "ok", "error") else stated, kind)
        if body.get("status") in (None, "ok"):
            return
        if body.get("score") is not None:
            body.setdefault("raw_score", body["score"])
            del body["score"]
            self._count("the score of a ballot that failed is kept as raw_score only")
        body.pop("pass", None)


def _share(stated: float, column: str, scale: tuple[float, float]) -> float:
    """Map a raw score from a scale to 0..1. Raise CellError if it is outside."""
    low, high = scale
    share = (stated - low) / (high - low) + 0.0  # never -0.0
    if not -_SLACK <= share <= 1 + _SLACK:
        raise CellError(column, must_be(f"from {low:g} to {high:g} (--scale)", stated))
    return min(max(share, 0.0), 1.0)


def _message(stated: Any) -> tuple[str, str]:
    """Return why a ballot failed and the error's type; empty texts for false, null and the like."""
    if is_missing(stated) or stated in (False, 0, [], {}):
        return "", ""
    if isinstance(stated, str) and stated.strip().lower() in {"false", "no", "0"}:
        return "", ""
    if not isinstance(stated, dict):
        text = None if isinstance(stated, bool | int | float) else _text(stated)
        return text or "the juror failed", ""
    message = values.text(values.first(stated, ("message", "detail", "error")))
    kind = values.first(stated, ("type", "code", "kind")) if message else None
    return message or _text(stated) or "", str(kind) if isinstance(kind, str | int) else ""


def _text(value: Any) -> str | None:
    return None if blank(value) else values.text(value)


class PanelReader:
    """Reads the panels of a file that is no table; ``survey`` records the scores of all of them."""

    def __init__(self, rule: Cells, survey: TableSurvey, options: ReadOptions) -> None:
        """Resolve the paths of ``rule``, whose ``each`` is the name of the panel in notes."""
        made = convert({"name": "tool", "panel": True, **rule}, TableMap)
        self._survey = survey
        self._models = options.models
        self._reading = MapReader(made, Layout(()))
        self.notes = BallotNotes()
        self._ballots = BallotMaker(survey, options, made, self.notes, keeps_outside=True)
        self.threshold = self._ballots.threshold

    def survey(self, panel: list[JsonObject]) -> dict[str, list[Ballot]]:
        """Record the scores of a panel; return its ballots by the question that they answer."""
        votes = self._reading.panel(panel, self.notes)
        for ballots in votes.values():
            self._survey.add_votes(ballots)
        return votes

    def juries(self, panel: list[JsonObject], place: Path = ()) -> dict[str, list[JsonObject]]:
        """Return the jurors of a panel by the question that they answer."""
        row = TableRow(place, {})
        juries: dict[str, list[JsonObject]] = {}
        for asked, ballots in self.survey(panel).items():
            ids = juror_ids(tuple([vote.judge for vote, _ in ballots]))
            made = juries[asked] = []
            for juror_id, (vote, own) in zip(ids, ballots, strict=True):
                if vote.remarks or not vote.made:
                    self._ballots.ballot(vote, own, row)
                made.append({**vote.made, "id": juror_id, **own})
        return juries

    def import_notes(self) -> list[str]:
        return self.notes.ballot_notes(self._models, self._survey.judges)
