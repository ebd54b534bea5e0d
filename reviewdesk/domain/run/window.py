"""The verdicts of a run, read and assessed a window at a time, as the rows that a desk stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct, to_builtins

from reviewdesk.domain.assessment.result import Breach, Flag
from reviewdesk.domain.audit.mismatches import breaches
from reviewdesk.domain.jury.injection import suspects
from reviewdesk.domain.jury.panels import ERROR, INCONCLUSIVE
from reviewdesk.domain.jury.scores import BANDS
from reviewdesk.domain.jury.sheet import Policies, read_sheet
from reviewdesk.domain.jury.verdicts import Verdicts
from reviewdesk.domain.panel.samples import position_flip
from reviewdesk.domain.report_model import Written
from reviewdesk.domain.run.columns import Floats, Ints
from reviewdesk.domain.run.packing import (
    COLUMNS,
    DECISIONS,
    NOTHING,
    STRATEGIES,
    Bar,
    Names,
    failed_ballots,
)
from reviewdesk.domain.run.tally import DERIVED, DERIVED_ESCALATION, RunTally, SettledVerdicts
from reviewdesk.domain.stats.dense import counted
from reviewdesk.domain.values import AgreementSource, Strategy
from reviewdesk.domain.verdict import (
    Generator,
    Policy,
    content_digest,
    drawn_name,
    item_digest,
    stored_body,
    verdict_reader,
)

SIZE = 1000
"""The most verdicts in a window."""
_MOST_BYTES = 8 << 20
"""A window ends with the verdict whose JSON takes it over this size."""


class VerdictWindow(Struct, frozen=True):
    """Consecutive verdicts of a run, from place ``first`` in file order."""

    first: int
    bodies: Sequence[bytes]
    """The canonical JSON of each verdict."""
    columns: Mapping[str, Sequence[Any]]
    """The columns id, test, item and those of ``DERIVED``."""
    flags: Sequence[int]
    """The flags of each verdict with ``DERIVED_ESCALATION``; ``tally.final_flags`` settles them."""
    contents: Sequence[bytes]
    """The content digest of each verdict."""
    outputless: Sequence[int]
    """The places in the window of the verdicts without an output."""
    tags: Sequence[tuple[int, str]]
    """The tags of the cases, each with the place of its verdict in file order."""
    packed: Mapping[str, bytes]
    """The ballots as the columns of ``packing.COLUMNS``."""

    def names(self) -> list[str]:
        """Return the name under which the content of each verdict is drawn."""
        ids = self.columns["id"]
        alone = frozenset(self.outputless)
        return [
            drawn_name(content, ids[at] if at in alone else None)
            for at, content in enumerate(self.contents)
        ]


class WindowReader:
    """Assesses the verdicts of one run and keeps the results that need all of them."""

    def __init__(
        self, header: Mapping[str, Any], options: Mapping[str, Any], run_hash: str
    ) -> None:
        """Read verdicts under a report's header and the policy that the options fill in."""
        self._read = verdict_reader(header, options)
        self._run_hash = run_hash
        stated = header.get("generator") or {}
        self._generator = Generator(stated.get("model"), stated.get("vendor"))
        self._policies = Policies(
            Policy.from_body(header.get("defaults")), Policy.from_body(options)
        )
        self._known = Names()
        self.tally = RunTally()

    @property
    def names(self) -> tuple[str, ...]:
        """The jurors so far, in order of first appearance."""
        return self._known.names

    @property
    def quorums(self) -> tuple[Bar, ...]:
        """The quorums so far, in order of first appearance."""
        return self._known.quorums

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
        if window:
            yield self._window(window)

    def _window(self, written: list[Written]) -> VerdictWindow:
        first = self.tally.verdicts
        verdicts = [verdict for verdict, _ in written]
        texts = [text for _, text in written]
        facts, place = self._policies.of(verdicts)
        panels = [tuple([juror.id for juror in one.jurors]) for one in verdicts]
        seats = [self._known.seats(panel) for panel in panels]
        found = Verdicts(read_sheet(verdicts, facts, place, self._generator, seats))
        digests = [content_digest(one) for one in verdicts]
        marks = breaches(found, lambda at: self._read(stored_body(texts[at])))
        settled = self._settled(found, marks)
        packed = packed_columns(found, self._known)
        self.tally.add(verdicts, settled, digests)
        self.tally.failed += failed_ballots(packed)
        items = [
            item_digest(one, digest, self._run_hash)
            for one, digest in zip(verdicts, digests, strict=True)
        ]
        return VerdictWindow(
            first,
            texts,
            {
                "id": [one.id for one in verdicts],
                "test": [one.case.test for one in verdicts],
                "item": items,
                **settled.derived,
            },
            settled.flags,
            digests,
            [at for at, one in enumerate(verdicts) if not one.output],
            [(pos, tag) for pos, one in enumerate(verdicts, first) for tag in one.case.tags or ()],
            packed,
        )

    def _settled(self, found: Verdicts, marks: Ints) -> SettledVerdicts:
        """Return the values that the run keeps of each verdict."""
        verdicts = found.sheet.verdicts
        claims = found.sheet.claims
        warned = np.array([bool(one.bias_warning) for one in verdicts], np.bool_)
        thresholds = found.sheet.columns.threshold
        flags = found.flags
        position_flips = np.zeros(len(verdicts), np.bool_)
        for at, one in enumerate(verdicts):
            if asked := [juror for juror in one.jurors if juror.samples]:
                line = None if np.isnan(thresholds[at]) else float(thresholds[at])
                position_flips[at] = any(position_flip(to_builtins(juror), line) for juror in asked)
        for flag, where in (
            (Flag.BIAS_WARNING, warned),
            (Flag.MISMATCH, marks & ~int(Breach.ROUNDING) != 0),
            (Flag.SUSPICIOUS_TEXT, np.array(suspects(verdicts), np.bool_)),
            (Flag.POSITION_FLIP, position_flips),
            (DERIVED_ESCALATION, found.escalated),
        ):
            flags = np.where(where, flags | int(flag), flags)
        value, band, reported = found.shown
        cast = found.panels.cast
        sure = found.sheet.labels.sure
        total = np.zeros(len(verdicts))
        for seat in sure:
            total += np.nan_to_num(seat)
        given = counted(~np.isnan(sure))
        derived = (
            [_DECIDED[one] for one in found.decision.tolist()],
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
            found.sheet.columns.seated.tolist(),
            _known(found.range),
            _known(found.mass),
            marks.tolist(),
        )
        undecided = np.isin(found.decision, (INCONCLUSIVE, ERROR))
        reviewed = (claims.escalate == 1) | warned | found.disputed | undecided | found.no_votes
        return SettledVerdicts(
            dict(zip(DERIVED, derived, strict=True)),
            flags.tolist(),
            reviewed.tolist(),
            found.no_votes.tolist(),
        )


def packed_columns(found: Verdicts, known: Names) -> dict[str, bytes]:
    """Return the ballots and the rules of verdicts as the columns that a desk keeps."""
    sheet = found.sheet
    columns = found.sheet.columns
    numbers = [known.quorum(fact.policy) for fact in sheet.facts]
    # Labels cannot be replayed from scores and votes.
    external = np.int8(STRATEGIES.index(Strategy.EXTERNAL))
    # Our errors are not compared with other rules, except too few answers, an error under each.
    ours = (sheet.claims.decision == NOTHING) & (found.decision == ERROR)
    packed: dict[str, npt.NDArray[Any]] = {
        **sheet.flat,
        "seated": columns.seated,
        "threshold": columns.threshold,
        "quorum": sheet.of_policy(numbers, np.int64),
        "strategy": np.where(found.counts & found.says, external, columns.strategy),
        "fraction": columns.fraction,
        "rounding": columns.rounding,
        "decision": np.where(ours & ~found.panels.too_few, NOTHING, found.decision),
        "score": found.score,
    }
    return {
        name: packed[name].astype(np.dtype(code).newbyteorder("<")).tobytes()
        for name, code in COLUMNS.items()
    }


_BANDS = (*[one.value for one in BANDS], None)
_SOURCES = (AgreementSource.OURS.value, AgreementSource.REPORTED.value)
_DECIDED = (*[one.value for one in DECISIONS], None)
"""The decisions by code; -1 is the last."""


def _known(values: Floats) -> list[float | None]:
    """Return numbers as a list, with None for NaN."""
    return [None if value != value else value for value in values.tolist()]  # noqa: PLR0124
