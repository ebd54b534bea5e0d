"""The reader of lm-council ratings: one row per judge, put together to one verdict per question.

Of a pair the question is whether the first response is better; the same pair in the other order is
another verdict, because judges favour places. A judge that was asked again is ``#2``. Rows of one
question may stand anywhere: a first pass counts them, and a verdict is let go of once it is whole.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO

from reviewdesk.domain.jury.family import family
from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally, failing
from reviewdesk.reports.canonical.models import FORMAT_NAME
from reviewdesk.reports.council.rows import (
    RatedPair,
    Rating,
    ratings,
    unmapped,
)
from reviewdesk.reports.dialect import Dialect, FirstLook
from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.raw_scores import Scale
from reviewdesk.reports.mapping.records import Record, records
from reviewdesk.reports.mapping.remarks import Remarks
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report, ReportVerdict
from reviewdesk.reports.wording import FieldProblem

_NO_TEXTS = "the responses are not in this file, only who wrote them; completions.jsonl has them"
_MOST_HELD = 256 << 20
_BALLOT_COST = 600
_TITLE_LENGTH = 160


class OpenQuestions:
    """Ratings of questions that are not whole yet, within a bound on their memory."""

    def __init__(self, expected: Counter[bytes], fail: Fail, most: int = _MOST_HELD) -> None:
        """Take how many ratings each question will have."""
        self._expected, self._fail, self._most = expected, fail, most
        self._open: dict[RatedPair, list[Rating]] = {}
        self._held = 0

    def add(self, rating: Rating) -> list[Rating]:
        """All the ratings of a question with its last one, else nothing."""
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
    """A short stand-in for what is rated, so that counting holds no texts."""
    return hashlib.blake2b(repr(rated).encode(), digest_size=16).digest()


def _cost(rating: Rating) -> int:
    reason = rating.ballot.get("reason") or ""
    return _BALLOT_COST + 4 * (len(reason) + len(rating.rated.prompt))


class _Mapper:
    def __init__(self, scale: Scale, gathering: OpenQuestions) -> None:
        self._scale, self._gathering = scale, gathering
        self.remarks = Remarks()
        self._names = foreign.VerdictNames()

    def notes(self) -> list[str]:
        return [_NO_TEXTS, *self.remarks.notes(foreign.LEFT_OUT)]

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
        return values.said(
            {
                "id": self._names.verdict(f"{test}: {about}"),
                "case": {"test": test, "name": about},
                "input": rated.prompt,
                "output": rated.model,
                "alternative": rated.rival,
                "rubric": rated.rubric,
                **_writers(rated, whole),
                "jurors": jurors,
                "provenance": {"pointer": record.pointer},
            }
        )


def _writers(rated: RatedPair, whole: list[Rating]) -> dict[str, Any]:
    """Who wrote what is judged, as far as one generator can say it.

    A judge of the second writer's family is of the family of one of them; where that family is
    unknown, no generator leaves open whether any is.
    """
    generator = {"generator": {"model": rated.model}}
    if rated.rival is None:
        return generator
    judges = {found for rating in whole if (found := _family(rating.judge))}
    first, second = _family(rated.model), _family(rated.rival)
    if first in judges:
        return generator
    if second in judges:
        return {"same_family": True}
    return {} if first and not second else generator


def _family(model: str) -> str | None:
    found = family(model)
    return found.name if found else None


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    fail = failing(source)
    expected: Counter[bytes] = Counter()
    bad = 0
    with source.open() as stream:
        for record in records(stream, look.outline, fail, ImportTally()):
            found = ratings(record.value, options.scale, lambda _: None)
            if isinstance(found, FieldProblem):
                bad += 1
            else:
                expected.update(question(rating.rated) for rating in found)
    if not expected and not bad:
        raise fail("", "holds no rating", "")

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        mapper = _Mapper(options.scale, OpenQuestions(expected, fail))
        for record in records(stream, look.outline, fail, tally):
            yield from mapper.items(record)
        tally.notes.extend(mapper.notes())

    header = {"schema": FORMAT_NAME, "producer": {"name": "lm-council", "format": "lm-council"}}
    total, skip_bad = len(expected) + bad, options.skip_bad
    return Report(source, "lm-council", header, items, total=total, skip_bad=skip_bad)


def _fits(look: FirstLook) -> bool:
    keys = look.outline.keys
    rated = ("pairwise_choice", "model_being_judged")
    return "judge_model" in keys and any(name in keys for name in rated)


DIALECT = Dialect("lm-council", "an lm-council ratings file", _fits, _open, frozenset({"scale"}))
