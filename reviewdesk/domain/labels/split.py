"""The honest split of a rubric's labels: a half to tune a panel on, and a half to test it on.

Every step is an event, and the split follows from the events of all desks in their order. A group
in a tuning half stays there; an adoption moves its whole holdout there.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.records import Run
from reviewdesk.domain.verdict import canonical_json

KIND = "improve"
"""The kind of the events of splits, tries and adoptions."""

MOST_JUDGED = 500
"""The most cases of the tuning half on which changes of the rule are tried."""


class Half(StrEnum):
    """Where a labelled item belongs."""

    TUNING = "tuning"
    HOLDOUT = "holdout"


class TryVerdict(StrEnum):
    """The result of a try."""

    BETTER = "better"
    NOT_SHOWN = "not shown"
    WORSE = "worse"


class SplitMade(Struct, frozen=True, tag="split"):
    """Groups of near-copies that were put into the halves of a rubric's split."""

    rubric: str
    tuning: tuple[str, ...]
    holdout: tuple[str, ...]
    seed: str
    open_labels: bool = False
    """Whether labels given with the panel's answer in view count."""


class TryBegun(Struct, frozen=True, tag="try"):
    """A candidate that is tried on a holdout; continuing it repeats the event with its ``name``.

    ``items`` are the hashes of the contents that are asked about.
    """

    rubric: str
    name: str
    parent: str
    candidate: str
    file: str
    items: tuple[str, ...]
    asks: bool
    exact: str = ""
    """A hash of everything in both panel files; the panel hashes leave some of it out."""


class TryEnded(Struct, frozen=True, tag="tried"):
    """The one word that a try gave."""

    rubric: str
    name: str
    verdict: TryVerdict


class TryFigures(Struct, frozen=True):
    """The figures of a try that its adoption reveals; accuracies are through the draw.

    On ``gained`` items the candidate alone was right, on ``lost`` items the parent alone.
    """

    before: float
    after: float
    gain: float
    low: float
    high: float
    level: float
    asked: int
    gained: int
    lost: int


class PanelAdopted(Struct, frozen=True, tag="adopted"):
    """A candidate that took the place of its parent, which spends the holdout."""

    rubric: str
    at: str
    name: str
    parent: str
    candidate: str
    file: str
    seed: str
    tries: int
    verdict: TryVerdict
    figures: TryFigures


Step = SplitMade | TryBegun | TryEnded | PanelAdopted


class Split(Struct, frozen=True):
    """A rubric's split as it stands: names of groups of near-copies, and the tries.

    ``spent`` is the holdout that the last adoption used, until the next split.
    """

    rubric: str
    tuning: frozenset[str] = frozenset()
    holdout: frozenset[str] = frozenset()
    spent: frozenset[str] = frozenset()
    seed: str = ""
    open_labels: bool = False
    tries: tuple[tuple[TryBegun, TryVerdict | None], ...] = ()
    """The tries of this holdout in their order; one without a verdict was interrupted."""
    adopted: tuple[PanelAdopted, ...] = ()

    @property
    def tuned(self) -> frozenset[str]:
        """The groups that the last panel, or a candidate of it, may have been tuned on."""
        return self.tuning - self.spent

    def half(self, group: str) -> Half | None:
        """Return where a group belongs; ``None`` for one that came after the split."""
        if group in self.tuning:
            return Half.TUNING
        return Half.HOLDOUT if group in self.holdout else None


def replay(rubric: str, steps: Iterable[Step]) -> Split:
    """Return the split of a rubric after the steps of all desks, in their common order."""
    made = Split(rubric)
    tries: dict[str, tuple[TryBegun, TryVerdict | None]] = {}
    for step in steps:
        if step.rubric != rubric:
            continue
        if isinstance(step, SplitMade):
            tuning = made.tuning.union(step.tuning)
            made = replace(
                made,
                tuning=tuning,
                holdout=made.holdout.union(step.holdout) - tuning,
                spent=frozenset(),
                seed=made.seed or step.seed,
                open_labels=made.open_labels or step.open_labels,
            )
        elif isinstance(step, TryBegun):
            tries.setdefault(step.name, (step, None))
        elif isinstance(step, TryEnded) and step.name in tries:
            tries[step.name] = tries[step.name][0], step.verdict
        elif isinstance(step, PanelAdopted):
            tries = {}
            made = replace(
                made,
                tuning=made.tuning | made.holdout,
                holdout=frozenset(),
                spent=made.holdout,
                adopted=(*made.adopted, step),
            )
    return replace(made, tries=tuple(tries.values()))


def group_of(text: str | None, test: str, verdict: str) -> str:
    """Return a case's near-copy group: a hash of its test and its input without case and blanks.

    A test that only repeats the verdict's id is ignored.
    """
    plain = " ".join((text or "").casefold().split())
    name = "" if plain and test == verdict else test
    return hashlib.sha256(canonical_json([plain, name])).hexdigest()[:32]


def rubric_name(rubrics: Collection[str | None]) -> str:
    """Return the name under which a run's split is kept: a hash of all rubrics of its cases."""
    return hashlib.sha256(canonical_json(sorted(one or "" for one in rubrics))).hexdigest()[:32]


def halved(
    groups: Iterable[tuple[str, str]], known: Split, seed: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the groups that join the tuning half and the holdout; each has a name and a stratum.

    In each stratum new groups, in the order of a keyed hash, fill up the holdout to half of all
    groups; an odd stratum's remainder is carried to the next. Known groups keep their halves.
    """
    strata: dict[str, list[str]] = {}
    for name, stratum in dict(reversed([*groups])).items():
        strata.setdefault(stratum, []).append(name)
    tuning: list[str] = []
    holdout: list[str] = []
    carried = 0.0
    for _, names in sorted(strata.items()):
        free = [name for name in names if known.half(name) is None]
        free.sort(key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
        held = sum(known.half(name) is Half.HOLDOUT for name in names)
        wanted = len(names) / 2 - held + carried
        take = min(max(round(wanted), 0), len(free))
        carried = min(max(wanted - take, -0.5), 0.5)
        holdout += free[:take]
        tuning += free[take:]
    return tuple(tuning), tuple(holdout)


class LabelledCase(Struct, frozen=True):
    """A labelled verdict of a run; ``stratum`` and ``rank`` are its place in the draw."""

    key: int
    id: str
    item: str
    group: str
    stratum: int
    rank: int
    counts: bool
    should_pass: bool
    decided: bool | None
    """What the panel of the report decided; ``None`` if neither pass nor fail."""
    tags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class SplitLabels(Struct, frozen=True):
    """A run's labels by half; ``later`` came after the split, ``left_out`` were not given blind.

    ``rubric`` is ``None`` unless all cases have one. ``sizes`` are those of the draw's strata.
    """

    run: Run
    split: Split
    rubric: str | None
    tuning: tuple[LabelledCase, ...]
    holdout: tuple[LabelledCase, ...]
    later: tuple[LabelledCase, ...]
    left_out: int
    sizes: Mapping[int, int]

    @property
    def asked(self) -> tuple[LabelledCase, ...]:
        """The cases that a try asks about: the first in the draw of each group of near-copies."""
        found: dict[str, LabelledCase] = {}
        for one in sorted(self.holdout, key=lambda one: (one.rank, one.stratum, one.key)):
            if one.counts:
                found.setdefault(one.group, one)
        return tuple(found.values())

    @property
    def judged(self) -> tuple[LabelledCase, ...]:
        """The cases of the tuning half on which changes of the rule are tried."""
        return self.tuning[:MOST_JUDGED]

    @property
    def wrong(self) -> tuple[LabelledCase, ...]:
        """The cases of the tuning half that the panel decided against their labels."""
        return tuple(one for one in self.tuning if one.decided is (not one.should_pass))

    @property
    def decisions(self) -> Counter[tuple[bool | None, bool]]:
        """The cases of the tuning half by what the panel decided and whether they should pass."""
        return Counter((one.decided, one.should_pass) for one in self.tuning)

    def said(self, field: str) -> list[tuple[str, int, int]]:
        """Return wrong cases' tags or notes by frequency, with their false passes and fails."""
        counts: dict[str, Counter[bool | None]] = {}
        for one in self.wrong:
            for text in getattr(one, field):
                counts.setdefault(" ".join(text.split()), Counter())[one.decided] += 1
        order = sorted(counts.items(), key=lambda pair: (-pair[1].total(), pair[0]))
        return [(text, found[True], found[False]) for text, found in order]


class WrittenCandidate(Struct, frozen=True):
    """A candidate's file, what differs in it line by line, and whether a try asks jurors."""

    path: Path
    parent: Path
    diff: tuple[str, ...]
    asks: bool
