"""Read lm-council ratings: one row per judge, combined into one verdict per question.

For a pair the question is whether the first response is better. The same pair in the other order is
another verdict, because judges prefer a position. A judge that rates a second time gets ``#2``. The
rows of a question may be anywhere in the file: a first pass counts them, so that the second pass
can yield a verdict as soon as its last row is read.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from reviewdesk.domain.jury.family import family
from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, failing
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.dialect import Dialect, FirstLook
from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.ballots import understood, unread_keys
from reviewdesk.reports.mapping.foreign import Remarks, Scale, fitted
from reviewdesk.reports.mapping.records import Record, mapped
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report, ReportVerdict
from reviewdesk.reports.wording import FieldProblem, must_be

FIRST_IS_BETTER = "The first response is better than the second."

_CHOICES = {"A>>B": True, "A>B": True, "A=B": None, "B>A": False, "B>>A": False}
_OVERALL = "Overall"
_COMMON = frozenset(
    {"user_prompt", "judge_model", "temperature", "explanation"}
    | {"completion_tokens", "prompt_tokens", "total_tokens"}
)
_PAIR = _COMMON | {"first_completion_by", "second_completion_by", "pairwise_choice"}
_SINGLE = _COMMON | {"model_being_judged", _OVERALL}


class RatedPair(NamedTuple):
    """The question that the ratings of one verdict share.

    ``rival`` is the model of the second response, or None if a response is rated alone.
    """

    prompt: str
    model: str
    rival: str | None
    rubric: str


class Rating(Struct, frozen=True):
    """One judge's answer to one question; ``ballot`` is canonical, without an id."""

    rated: RatedPair
    judge: str
    ballot: dict[str, Any]


def ratings(row: Any, scale: Scale, count: Callable[[str], None]) -> list[Rating] | FieldProblem:
    """Return a row's ratings: one for a pair, or one per criterion; or the row's problem."""
    if not isinstance(row, dict):
        return FieldProblem((), must_be("an object", row))
    names = {"first_completion_by", "second_completion_by"}
    paired = "pairwise_choice" in row
    if not paired:
        names = {"model_being_judged"}
    for name in ("judge_model", *sorted(names)):
        if values.filled(row.get(name)) is None:
            return FieldProblem((name,), must_be("the name of a model", row.get(name)))
    if not isinstance(row.get("user_prompt"), str):
        return FieldProblem(("user_prompt",), must_be("a text", row.get("user_prompt")))
    if paired:
        return [_pair(row, count)]
    return list(_criteria(row, scale, count))


def unmapped(row: dict[str, Any]) -> list[str]:
    """Return the keys of a row that are not read."""
    if "pairwise_choice" in row:
        return [key for key in row if key not in _PAIR]
    return [key for key, value in row.items() if key not in _SINGLE and not _is_rating(value)]


def _pair(row: dict[str, Any], count: Callable[[str], None]) -> Rating:
    rated = RatedPair(
        row["user_prompt"],
        row["first_completion_by"],
        row["second_completion_by"],
        FIRST_IS_BETTER,
    )
    choice = values.filled(row.get("pairwise_choice"))
    word = choice.strip().strip("[]").strip() if choice else None
    if word and word not in _CHOICES:
        count("a choice in unknown words is kept as its label, without a vote")
    answer = {"label": word or None, "pass": _CHOICES.get(word) if word else None}
    ballot = values.without_nulls(_call_fields(row) | answer, "pass")
    unread = unread_keys(row, ("pairwise_choice",), _PAIR)
    return Rating(rated, row["judge_model"], understood(ballot, unread))


def _criteria(row: dict[str, Any], scale: Scale, count: Callable[[str], None]) -> Iterator[Rating]:
    criteria = [key for key, value in row.items() if key not in _SINGLE and _is_rating(value)]
    if _OVERALL in row:
        if criteria:
            count("Overall, the mean of a judge's ratings, is left out")
        elif _is_rating(row[_OVERALL]):
            criteria = [_OVERALL]
    if not criteria:
        rated = RatedPair(row["user_prompt"], row["model_being_judged"], None, _OVERALL)
        ballot = understood(
            values.without_nulls(_call_fields(row)),
            unread_keys(row, (_OVERALL,), _COMMON | {"model_being_judged"}),
        )
        yield Rating(rated, row["judge_model"], ballot)
    for criterion in criteria:
        rated = RatedPair(row["user_prompt"], row["model_being_judged"], None, criterion)
        scores = fitted(row[criterion], scale, count, "a rating")
        yield Rating(rated, row["judge_model"], values.without_nulls(_call_fields(row) | scores))


def _call_fields(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": row["judge_model"],
        "reason": values.filled(row.get("explanation")),
        "temperature": values.number(row.get("temperature")),
        "tokens_in": values.count(row.get("prompt_tokens")),
        "tokens_out": values.count(row.get("completion_tokens")),
    }


def _is_rating(value: Any) -> bool:
    """Return True for a number, and for null, which means that the judge gave no rating."""
    return value is None or values.number(value) is not None


_NO_TEXTS = "the responses are not in this file, only who wrote them; completions.jsonl has them"
_MOST_HELD = 256 << 20
_BALLOT_COST = 600
_TITLE_LENGTH = 160


class OpenQuestions:
    """Holds the ratings of incomplete questions, within a limit on memory (``most``, bytes)."""

    def __init__(self, expected: Counter[bytes], fail: Fail, most: int = _MOST_HELD) -> None:
        """Start with the number of ratings that each question will have."""
        self._expected = expected
        self._fail = fail
        self._most = most
        self._open: dict[RatedPair, list[Rating]] = {}
        self._held = 0

    def add(self, rating: Rating) -> list[Rating]:
        """Add a rating. Return all ratings of its question if it is the last, else an empty list.

        Raises:
            InputFileError: the ratings of incomplete questions exceed the limit.
        """
        waiting = self._open.setdefault(rating.rated, [])
        waiting.append(rating)
        self._held += _cost(rating)
        if len(waiting) >= self._expected[question(rating.rated)]:
            del self._open[rating.rated]
            self._held -= sum(map(_cost, waiting))
            return waiting
        if self._held > self._most:
            problem = "has more ratings of unfinished questions than can be held at once"
            raise self._fail("", problem, "Sort it by user_prompt, or split it.")
        return []


def question(rated: RatedPair) -> bytes:
    """Return a 16-byte hash of a question, so that counting questions holds no texts."""
    return hashlib.blake2b(repr(rated).encode(), digest_size=16).digest()


def _cost(rating: Rating) -> int:
    reason = rating.ballot.get("reason") or ""
    return _BALLOT_COST + 4 * (len(reason) + len(rating.rated.prompt))


class _Mapper:
    def __init__(self, scale: Scale, expected: Counter[bytes], fail: Fail) -> None:
        self._scale = scale
        self._expected = expected
        self._gathering = OpenQuestions(expected, fail)
        self.remarks = Remarks()
        self._names = foreign.VerdictNames()

    def notes(self) -> list[str]:
        return [_NO_TEXTS, *self.remarks.notes(foreign.LEFT_OUT)]

    def count(self, record: Record) -> int:
        """Return how many questions are new in a record, and expect its ratings."""
        found = ratings(record.value, self._scale, self.remarks.count)
        if isinstance(found, FieldProblem):
            return 1
        known = len(self._expected)
        self._expected.update(question(rating.rated) for rating in found)
        return len(self._expected) - known

    def items(self, record: Record) -> Iterator[ReportVerdict]:
        found = ratings(record.value, self._scale, self.remarks.count)
        if isinstance(found, FieldProblem):
            yield record.refused(found)
            return
        self.remarks.unmapped(unmapped(record.value))
        for rating in found:
            if whole := self._gathering.add(rating):
                yield record.item(self._verdict(rating.rated, whole, record))

    def _verdict(self, rated: RatedPair, whole: list[Rating], record: Record) -> dict[str, Any]:
        ids = foreign.VerdictNames.jurors([rating.judge for rating in whole])
        jurors = [
            {"id": juror_id, **rating.ballot} for juror_id, rating in zip(ids, whole, strict=True)
        ]
        test = show_line(rated.prompt.strip(), _TITLE_LENGTH) or "empty prompt"
        about = (
            f"{rated.model} or {rated.rival}" if rated.rival else f"{rated.model}/{rated.rubric}"
        )
        return values.without_nulls(
            {
                "id": self._names.verdict(f"{test}: {about}"),
                "case": {"test": test, "name": about},
                "input": rated.prompt,
                "output": rated.model,
                "alternative": rated.rival,
                "rubric": rated.rubric,
                **_generator_fields(rated, whole),
                "jurors": jurors,
                "provenance": {"pointer": record.pointer},
            }
        )


def _generator_fields(rated: RatedPair, whole: list[Rating]) -> dict[str, Any]:
    """Return the fields that say whether a judge shares a family with a model under test.

    This is the generator, usually the first response's model. If only the second response's model
    shares a family with a judge, ``same_family`` says so. If its family is unknown, and the
    first one's is known and not shared, both fields are left out, because the question is open.
    """
    generator = {"generator": {"model": rated.model}}
    if rated.rival is None:
        return generator
    judges = {found for rating in whole if (found := _family(rating.judge))}
    first = _family(rated.model)
    second = _family(rated.rival)
    if first in judges:
        return generator
    if second in judges:
        return {"same_family": True}
    return {} if first and not second else generator


def _family(model: str) -> str | None:
    found = family(model)
    return found.name if found else None


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    expected: Counter[bytes] = Counter()
    header = {"schema": FORMAT_NAME, "producer": {"name": "lm-council", "format": "lm-council"}}
    return mapped(
        source,
        look,
        options,
        header,
        lambda: _Mapper(options.scale, expected, failing(source)),
        name="lm-council",
        nothing="holds no rating",
        count=_Mapper(options.scale, expected, failing(source)).count,
    )


def _fits(look: FirstLook) -> bool:
    keys = look.outline.keys
    rated = ("pairwise_choice", "model_being_judged")
    return "judge_model" in keys and any(name in keys for name in rated)


DIALECT = Dialect("lm-council", "an lm-council ratings file", _fits, _open, frozenset({"scale"}))
