"""The verdicts of a run, read and assessed a window at a time, as the rows that a desk stores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from reviewdesk.domain.assessment.assess import Assessment, assess
from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.canonical import CanonicalVerdict, Written
from reviewdesk.domain.content import content_digest, drawn_name, item_digest
from reviewdesk.domain.run.measures import Measures
from reviewdesk.domain.run.packing import Bar, Packer, failed_ballots
from reviewdesk.domain.run.policies import Policies
from reviewdesk.domain.run.tally import RunTally, SettledVerdict, preliminary_flags
from reviewdesk.domain.verdict import Decision, Generator, Policy, Verdict, verdict_reader

SIZE = 500
"""The number of verdicts in a window; the last of a run may have fewer."""


class VerdictWindow(Struct, frozen=True):
    """Consecutive verdicts of a run, from place ``first`` in file order."""

    first: int
    bodies: Sequence[str | bytes]
    """The canonical JSON of each verdict."""
    columns: Mapping[str, Sequence[Any]]
    """Id, test, item and those of ``DERIVED``."""
    flags: Sequence[int]
    """The flags of each verdict with ``DERIVED_ESCALATION``; ``tally.final_flags`` settles them."""
    contents: Sequence[bytes]
    """The content digest of each verdict."""
    outputless: Sequence[int]
    """The places in the window of the verdicts without an output."""
    tags: Sequence[tuple[int, str]]
    """The tags of its cases, each with the place of its verdict in file order."""
    packed: Mapping[str, bytes]
    """The ballots as the columns of ``packing.COLUMNS``."""

    def names(self) -> list[str]:
        """Return the name under which the content of each verdict is drawn."""
        ids, alone = self.columns["id"], frozenset(self.outputless)
        return [
            drawn_name(content, ids[at] if at in alone else None)
            for at, content in enumerate(self.contents)
        ]


class WindowReader:
    """Assesses the verdicts of one run and keeps what is known only after the last of them."""

    def __init__(
        self, header: Mapping[str, Any], options: Mapping[str, Any], run_hash: str
    ) -> None:
        """Read verdicts under a report's header and the policy that the options fill in."""
        self._read, self._run_hash = verdict_reader(header, options), run_hash
        stated = header.get("generator") or {}
        self._generator = Generator(stated.get("model"), stated.get("vendor"))
        self._policies = Policies(
            Policy.from_body(header.get("defaults")), Policy.from_body(options)
        )
        self._packer = Packer()
        self.tally = RunTally()

    @property
    def names(self) -> tuple[str, ...]:
        """The jurors so far, in order of first appearance."""
        return self._packer.names

    @property
    def quorums(self) -> tuple[Bar, ...]:
        """The quorums so far, in order of first appearance."""
        return self._packer.quorums

    def windows(self, written: Iterable[Written]) -> Iterator[VerdictWindow]:
        """Yield the verdicts in file order, ``SIZE`` at a time."""
        waiting = iter(written)
        while window := list(islice(waiting, SIZE)):
            made = self._window(window)
            # The bodies of two windows are never held at once.
            window.clear()
            yield made

    def _window(self, written: list[Written]) -> VerdictWindow:
        # Imported here because it loads numpy, which commands that only read do not need.
        from reviewdesk.domain.run.settled import settled_window

        first, bodies = self.tally.verdicts, [body for body, _ in written]
        keys = set[str]().union(*bodies)
        policies, places = self._policies.of(bodies, keys)
        window = settled_window(bodies, keys, policies, places, self._generator)
        self._packer.start(window.columns, [body["jurors"] for body in bodies], policies, places)
        for at in window.odd:
            verdict = self._read(bodies[at])
            found = assess(verdict)
            window.found.replace(at, _fact(verdict, found))
            self._packer.replace(at, verdict, found)
        digests = [content_digest(body) for body in bodies]
        packed = self._packer.window()
        self.tally.add(bodies, window.found, digests)
        self.tally.failed += failed_ballots(packed)
        items = [
            item_digest(body, digest, self._run_hash)
            for body, digest in zip(bodies, digests, strict=True)
        ]
        return VerdictWindow(
            first,
            [text or _json(body) for body, text in written],
            {
                "id": [body["id"] for body in bodies],
                "test": [body["case"]["test"] for body in bodies],
                "item": items,
                **window.found.derived,
            },
            window.found.flags,
            digests,
            [at for at, body in enumerate(bodies) if not body.get("output")],
            [
                (pos, tag)
                for pos, body in enumerate(bodies, first)
                for tag in body["case"].get("tags") or ()
            ],
            packed,
        )


def _json(body: CanonicalVerdict) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _fact(verdict: Verdict, found: Assessment) -> SettledVerdict:
    """Return what the assessment of one verdict gives."""
    reviewed = (
        bool(verdict.escalate)
        or verdict.bias_warning is not None
        or bool(found.flags & Flag.DISPUTE)
        or found.decision in {Decision.INCONCLUSIVE, Decision.ERROR}
        or found.no_votes
    )
    return SettledVerdict(
        _derived(verdict, found), preliminary_flags(found), reviewed, found.no_votes
    )


def _derived(verdict: Verdict, found: Assessment) -> tuple[Any, ...]:
    """Return the values of the columns ``DERIVED`` for one verdict."""
    confidences = [
        seat.ballot.confidence for seat in found.seats if seat.ballot.confidence is not None
    ]
    pair, measured = found.pair, Measures.of(found)
    return (
        found.decision, found.score, verdict.score,
        sum(confidences) / len(confidences) if confidences else None,
        pair.value, pair.band, pair.source, found.agreement.spread.band, found.agreement.margin,
        found.votes.passes, found.votes.answered, found.votes.seated,
        measured.range, measured.mass, int(measured.marks),
    )  # fmt: skip
