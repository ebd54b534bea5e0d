"""The verdicts of a run, read and assessed a window at a time, as the rows that a desk stores."""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from msgspec import Struct, to_builtins

from reviewdesk.domain import verdict
from reviewdesk.domain.assessment.mismatches import breaches
from reviewdesk.domain.assessment.result import Breach, Flag
from reviewdesk.domain.jury.injection import suspects
from reviewdesk.domain.jury.panels import ERROR, FAIL, INCONCLUSIVE, PASS
from reviewdesk.domain.jury.scores import BAND_OF
from reviewdesk.domain.jury.sheet import Policies, read_sheet
from reviewdesk.domain.jury.verdicts import Verdicts
from reviewdesk.domain.labels.sampling import FIRST_REST, stratum
from reviewdesk.domain.panel.samples import position_flip
from reviewdesk.domain.report_model import Written
from reviewdesk.domain.run.packing import COLUMNS, DECISION_OF, NOTHING, STRATEGIES, Names
from reviewdesk.domain.stats.dense import Bools, Column, Floats, Ints, Small, counted
from reviewdesk.domain.values import AgreementSource, Strategy

DERIVED_ESCALATION = 1 << 30
"""A temporary bit: a recomputed escalation, which counts if the report states no escalation."""
DERIVED = (
    "decision", "score", "stated_score", "confidence", "agreement", "band", "agreement_source",
    "ours_band", "margin", "passes", "answered", "seated", "range", "mass", "marks",
)  # fmt: skip
"""The columns of a verdict's row, beside its flags, that the rules compute from its body."""
_STRATA = np.array([[stratum(one, flagged=flag) for flag in (False, True)] for one in DECISION_OF])


@dataclass(slots=True)
class Counts:
    """Counts over the verdicts of a run."""

    verdicts: int = 0
    ballots: int = 0
    failed: int = 0
    passes: int = 0
    fails: int = 0
    stated_scores: int = 0
    decided: int = 0
    decided_stated: int = 0
    decided_scored: int = 0
    undecidable: int = 0
    voteless: int = 0
    human_labels: int = 0
    stated_escalation: bool = False
    tp: int = 0
    fn: int = 0
    tn: int = 0
    fp: int = 0
    """The confusion matrix of the decisions and the human labels in the reports."""

    def merge(self, other: "Counts") -> "Counts":
        names = [one.name for one in fields(Counts)]
        made = Counts(**{name: getattr(self, name) + getattr(other, name) for name in names})
        made.stated_escalation = bool(made.stated_escalation)
        return made

    def confidence_source(self) -> str:
        """Return ``support`` if every decided verdict has a score, stated if any is."""
        scored = self.decided_stated if self.stated_scores else self.decided_scored
        return "support" if scored == self.decided else "vote_share"


@dataclass(slots=True)
class RunTally(Counts):
    """Counts and columns over the verdicts of a run, in file order: five bytes a verdict."""

    preliminary: "array[int]" = field(default_factory=lambda: array("i"))
    """The flags of each verdict, with ``DERIVED_ESCALATION``."""
    sides: "array[int]" = field(default_factory=lambda: array("b"))
    """The stratum of each verdict if recomputed escalations are ignored."""
    contents: Any = field(default_factory=hashlib.sha256)

    def add(self, found: Verdicts, flags: Ints, reviewed: Bools, digests: Sequence[bytes]) -> None:
        """Count verdicts, and append them to the columns; ``reviewed`` need a person anyway."""
        verdicts = found.sheet.verdicts
        made = found.decision
        passed = made == PASS
        decided = passed | (made == FAIL)
        stated = ~np.isnan(found.claims.score)
        counts = {
            "verdicts": np.ones_like(passed),
            "ballots": found.columns.seated,
            "failed": found.columns.failed,
            "passes": passed,
            "fails": decided & ~passed,
            "decided": decided,
            "stated_scores": stated,
            "decided_stated": decided & stated,
            "decided_scored": decided & ~np.isnan(found.score),
            "voteless": (made == NOTHING) & found.no_votes,
            "undecidable": (made == NOTHING) & ~found.no_votes,
        }
        for name, column in counts.items():
            setattr(self, name, getattr(self, name) + int(column.sum()))
        pairs = zip(made.tolist(), verdicts, strict=True)
        labels = Counter((code, one.human.label) for code, one in pairs if one.human)
        self.human_labels += labels.total()
        self.tp += labels[PASS, "pass"]
        self.fn += labels[FAIL, "pass"]
        self.tn += labels[FAIL, "fail"]
        self.fp += labels[PASS, "fail"]
        self.stated_escalation |= bool((found.claims.escalate != NOTHING).any())
        self.preliminary.extend(flags.tolist())
        self.sides.extend(_STRATA[made, reviewed.astype(np.int8)].tolist())
        for one, digest in zip(verdicts, digests, strict=True):
            self.contents.update(verdict.canonical_texts(one.id, digest.hex()))

    def final_flags(self) -> Ints:
        return final_flags(self.preliminary, stated=self.stated_escalation)

    def strata(self) -> Small:
        """Return the stratum of each verdict, flagged by stated escalations, else by recomputed."""
        sides = np.array(self.sides)
        if self.stated_escalation:
            return sides
        return np.where(self.final_flags() & int(Flag.ESCALATED), sides % FIRST_REST, sides)


def final_flags(preliminary: Sequence[int], *, stated: bool) -> Ints:
    """Return the flags to store; recomputed escalations count unless the report states any."""
    found = np.asarray(preliminary, np.int32)
    counts = np.int32(0 if stated else Flag.ESCALATED)
    return np.where(found & DERIVED_ESCALATION, found ^ DERIVED_ESCALATION | counts, found)


SIZE = 3000
"""The most verdicts in a window."""
_MOST_BYTES = 6 << 20
"""A window ends with the verdict whose JSON takes it over this size."""


class VerdictWindow(Struct, frozen=True):
    """Consecutive verdicts of a run, from place ``first`` in file order."""

    first: int
    bodies: Sequence[bytes]
    """The canonical JSON of each verdict."""
    columns: Mapping[str, Sequence[Any]]
    """The columns id, test, item and those of ``DERIVED``."""
    flags: Sequence[int]
    """The flags of each verdict with ``DERIVED_ESCALATION``; ``final_flags`` settles them."""
    contents: Sequence[bytes]
    """The content digest of each verdict."""
    outputless: Sequence[int]
    """The places in the window of the verdicts without an output."""
    tags: Sequence[tuple[int, str]]
    """The tags of the cases, each with the place of its verdict in file order."""
    packed: Mapping[str, bytes]
    """The ballots as the columns of ``packing.COLUMNS``."""

    def names(self) -> list[str]:
        ids: list[str | None] = [None] * len(self.contents)
        for at in self.outputless:
            ids[at] = self.columns["id"][at]
        return list(map(verdict.drawn_name, self.contents, ids))


class WindowReader:
    """Assesses the verdicts of one run and keeps the results that need all of them."""

    def __init__(
        self, header: Mapping[str, Any], options: Mapping[str, Any], run_hash: str
    ) -> None:
        self._read = verdict.verdict_reader(header, options)
        self._run_hash = run_hash
        self._generator = verdict.generator_of(header)
        self._policies = Policies(self._read)
        self.known = Names()
        """The jurors and the quorums so far."""
        self.tally = RunTally()

    def windows(self, written: Iterable[Written]) -> Iterator[VerdictWindow]:
        """Yield the verdicts in file order, up to ``SIZE`` at a time."""
        window: list[Written] = []
        size = 0
        for one in written:
            window.append(one)
            size += len(one[1])
            if len(window) >= SIZE or size > _MOST_BYTES:
                made = self._window(window)
                # The bodies of two windows are never held at once.
                window.clear()
                size = 0
                yield made
                del made
        if window:
            yield self._window(window)

    def _window(self, written: list[Written]) -> VerdictWindow:
        first = self.tally.verdicts
        verdicts = [one for one, _ in written]
        texts = [text for _, text in written]
        facts, place = self._policies.of(verdicts)
        seats = [self.known.seats([juror.id for juror in one.jurors]) for one in verdicts]
        found = Verdicts(read_sheet(verdicts, facts, place, self._generator, seats))
        digests = [verdict.content_digest(one) for one in verdicts]
        marks = breaches(found, lambda at: self._read(verdict.stored_body(texts[at])))
        derived, flags, reviewed = _settled(found, marks)
        self.tally.add(found, flags, reviewed, digests)
        pairs = zip(verdicts, digests, strict=True)
        columns: dict[str, Sequence[Any]] = {
            "id": [one.id for one in verdicts],
            "test": [one.case.test for one in verdicts],
            "item": [verdict.item_digest(*pair, self._run_hash) for pair in pairs],
            **derived,
        }
        tags = [(at, tag) for at, one in enumerate(verdicts, first) for tag in one.case.tags or ()]
        return VerdictWindow(
            first,
            texts,
            columns,
            flags.tolist(),
            digests,
            outputless=[at for at, one in enumerate(verdicts) if not one.output],
            tags=tags,
            packed=packed_columns(found, self.known),
        )


def _settled(found: Verdicts, marks: Ints) -> tuple[dict[str, list[Any]], Ints, Bools]:
    """Return the columns ``DERIVED``, the flags, and which verdicts need a person anyway."""
    verdicts = found.sheet.verdicts
    claims = found.claims
    warned = np.array([bool(one.bias_warning) for one in verdicts], np.bool_)
    flags = found.flags
    flips = [
        any(position_flip(to_builtins(juror), line) for juror in one.jurors if juror.samples)
        for one, line in zip(verdicts, _known(found.columns.threshold), strict=True)
    ]
    for flag, where in (
        (Flag.BIAS_WARNING, warned),
        (Flag.MISMATCH, marks & ~int(Breach.ROUNDING) != 0),
        (Flag.SUSPICIOUS_TEXT, np.array(suspects(verdicts), np.bool_)),
        (Flag.POSITION_FLIP, np.array(flips, np.bool_)),
        (DERIVED_ESCALATION, found.escalated),
    ):
        flags = np.where(where, flags | int(flag), flags)
    value, band, reported = found.shown
    cast = found.panels.cast
    sure = found.labels.sure
    given = counted(~np.isnan(sure))
    total = sum(map(np.nan_to_num, sure), np.zeros(len(verdicts)))
    derived = (
        [_WORDS[one] for one in found.decision.tolist()],
        _known(found.score),
        _known(claims.score),
        _known(np.where(given > 0, total / np.maximum(given, 1), np.nan)),
        _known(value),
        [_BANDS[one] for one in band.tolist()],
        [_SOURCES[one] for one in reported.tolist()],
        [_BANDS[one] for one in found.band.tolist()],
        _known(found.margin),
        cast.passes.tolist(),
        cast.answered.tolist(),
        found.columns.seated.tolist(),
        _known(found.range),
        _known(found.mass),
        marks.tolist(),
    )
    undecided = np.isin(found.decision, (INCONCLUSIVE, ERROR))
    reviewed = (claims.escalate == 1) | warned | found.disputed | undecided | found.no_votes
    return dict(zip(DERIVED, derived, strict=True)), flags, reviewed


def packed_columns(found: Verdicts, known: Names) -> dict[str, bytes]:
    """Return the ballots and the rules of verdicts as the columns that a desk keeps."""
    sheet = found.sheet
    numbers = [known.quorum(fact.policy) for fact in sheet.facts]
    # Labels cannot be replayed from scores and votes.
    external = np.int8(STRATEGIES.index(Strategy.EXTERNAL))
    # Our errors are not compared with other rules, except too few answers, an error under each.
    ours = (sheet.claims.decision == NOTHING) & (found.decision == ERROR)
    packed: dict[str, Column] = {
        **sheet.flat,
        "quorum": sheet.of_policy(numbers, np.int64),
        "strategy": np.where(found.counts & found.says, external, sheet.columns.strategy),
        "decision": np.where(ours & ~found.panels.too_few, NOTHING, found.decision),
        "score": found.score,
    }
    return {
        name: packed[name].astype(np.dtype(code).newbyteorder("<")).tobytes()
        for name, code in COLUMNS.items()
    }


_BANDS, _WORDS = ([one and one.value for one in words] for words in (BAND_OF, DECISION_OF))
_SOURCES = (AgreementSource.OURS.value, AgreementSource.REPORTED.value)


def _known(values: Floats) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]  # noqa: PLR0124
