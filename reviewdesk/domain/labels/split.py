"""The honest split of a rubric's labels: a half to tune a panel on, and a half to test it on.

Every step is an event, and the split follows from the events of all desks in their order. A group
in a tuning half stays there; an adoption moves its whole holdout there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct, ValidationError, convert, to_builtins

from reviewdesk.domain.records import Run
from reviewdesk.domain.verdict import canonical_json

KIND = "improve"
"""The kind of the events of splits, tries and adoptions."""
LEVEL = 0.025
"""The one-sided level of the first try on a holdout; each further one has half of the last."""


def level(k: int) -> float:
    """Return the one-sided level of the try after ``k`` others on the same holdout."""
    return LEVEL / float(2**k)


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
    """The figures that an adoption reveals of its try: accuracies through the draw, and counts."""

    before: float
    after: float
    gain: float
    low: float
    high: float
    level: float
    asked: int
    gained: int
    """The items on which the candidate alone was right."""
    lost: int
    """The items on which the parent alone was right."""


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


Step: TypeAlias = SplitMade | TryBegun | TryEnded | PanelAdopted


def detail(step: Step) -> dict[str, Any]:
    """Return the detail of a step's event."""
    held: dict[str, Any] = {KIND: to_builtins(step)}
    return held


def step_of(held: Mapping[str, Any]) -> Step | None:
    """Read the step of an event; ``None`` if this program has no such step, or it is hand-made."""
    try:
        step: Step = convert(held.get(KIND), Step)
    except ValidationError:
        return None
    return step


class TriedCandidate(Struct, frozen=True):
    """A try on the current holdout; a try without a verdict was interrupted."""

    begun: TryBegun
    k: int
    """How many tries on this holdout came before it."""
    verdict: TryVerdict | None = None


class Split(Struct, frozen=True):
    """The split of a rubric as it stands: names of groups of near-copies, and the tries on it."""

    rubric: str
    tuning: frozenset[str] = frozenset()
    holdout: frozenset[str] = frozenset()
    seed: str = ""
    open_labels: bool = False
    tries: tuple[TriedCandidate, ...] = ()
    adopted: tuple[PanelAdopted, ...] = ()

    def half(self, group: str) -> Half | None:
        """Return where a group belongs; ``None`` for one that came after the split."""
        if group in self.tuning:
            return Half.TUNING
        return Half.HOLDOUT if group in self.holdout else None


def replay(rubric: str, steps: Iterable[Step]) -> Split:
    """Return the split of a rubric after the steps of all desks, in their common order."""
    tuning: set[str] = set()
    holdout: set[str] = set()
    tries: dict[str, TriedCandidate] = {}
    adopted: list[PanelAdopted] = []
    seed = ""
    open_labels = False
    for step in steps:
        if step.rubric != rubric:
            continue
        if isinstance(step, SplitMade):
            tuning.update(step.tuning)
            holdout = (holdout | set(step.holdout)) - tuning
            seed = seed or step.seed
            open_labels = open_labels or step.open_labels
        elif isinstance(step, TryBegun):
            tries.setdefault(step.name, TriedCandidate(step, len(tries)))
        elif isinstance(step, TryEnded) and step.name in tries:
            one = tries[step.name]
            tries[step.name] = TriedCandidate(one.begun, one.k, step.verdict)
        elif isinstance(step, PanelAdopted):
            adopted.append(step)
            tuning |= holdout
            holdout = set()
            tries = {}
    return Split(
        rubric, frozenset(tuning), frozenset(holdout), seed, open_labels,
        tuple(tries.values()), tuple(adopted),
    )  # fmt: skip


def group_of(text: str | None, test: str, verdict: str) -> str:
    """Return the name of the group of near-copies of a case: a hash of its input and its test.

    Case and blanks of the input are ignored, as is a test that only repeats the verdict's id.
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

    In each stratum the new groups, in the order of a hash with the seed, fill up the holdout to
    half of all groups, and the rest joins the tuning half. The remainder of an odd stratum is
    carried to the next one. Known groups keep their halves.
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
    """A labelled verdict of a run, and what the split and the lists need of it."""

    key: int
    id: str
    item: str
    group: str
    stratum: int
    """The stratum of the draw."""
    rank: int
    counts: bool
    """Whether the label counts for the draw."""
    should_pass: bool
    decided: bool | None
    """What the panel of the report decided; ``None`` if neither pass nor fail."""
    blind: bool | None
    tags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def wrong(self) -> bool:
        return self.decided is not None and self.decided is not self.should_pass


class WrongCases(Struct, frozen=True):
    """Where the panel is wrong in the tuning half: cases, and how often each tag and note occurs.

    Tags and notes have the false passes and the false fails that carry them, most frequent first.
    """

    cases: tuple[LabelledCase, ...]
    right: int
    tags: tuple[tuple[str, int, int], ...] = ()
    notes: tuple[tuple[str, int, int], ...] = ()

    @property
    def false_passes(self) -> int:
        return sum(bool(one.decided) for one in self.cases)

    @property
    def false_fails(self) -> int:
        return len(self.cases) - self.false_passes


def _counted(found: Iterable[tuple[str, LabelledCase]]) -> tuple[tuple[str, int, int], ...]:
    counts: dict[str, list[int]] = {}
    for name, one in found:
        counts.setdefault(name, [0, 0])[0 if one.decided else 1] += 1
    order = sorted(counts.items(), key=lambda pair: (-sum(pair[1]), pair[0]))
    return tuple((name, passes, fails) for name, (passes, fails) in order)


class SplitLabels(Struct, frozen=True):
    """A run's labels by half; ``later`` came after the split, ``left_out`` were not given blind."""

    run: Run
    split: Split
    rubric: str | None
    """The rubric of all cases; ``None`` if they have several, or none."""
    tuning: tuple[LabelledCase, ...]
    holdout: tuple[LabelledCase, ...]
    later: int
    left_out: int
    sizes: Mapping[int, int]
    """How many contents each stratum of the draw has."""

    @property
    def asked(self) -> tuple[LabelledCase, ...]:
        """The cases that a try asks about: the first in the draw of each group of near-copies."""
        found: dict[str, LabelledCase] = {}
        for one in sorted(self.holdout, key=lambda one: (one.rank, one.stratum, one.key)):
            if one.counts:
                found.setdefault(one.group, one)
        return tuple(found.values())

    @property
    def wrong(self) -> WrongCases:
        """The cases of the tuning half that the panel decided against their labels."""
        every = [one for one in self.tuning if one.decided is not None]
        wrong = tuple(one for one in every if one.wrong)
        return WrongCases(
            wrong,
            len(every) - len(wrong),
            _counted((tag, one) for one in wrong for tag in one.tags),
            _counted((" ".join(note.split()), one) for one in wrong for note in one.notes),
        )


class OfferedChange(Struct, frozen=True):
    """A change that can be made to a panel, then right on ``right`` of ``of`` tuning items.

    ``right`` is ``None`` if only asking jurors can tell. Without a ``change`` it is the panel.
    """

    change: str
    right: int | None = None
    of: int = 0


class WrittenCandidate(Struct, frozen=True):
    """A candidate's file and what differs in it from its parent, line by line."""

    path: Path
    parent: Path
    diff: tuple[str, ...]
    asks: bool
    """Whether jurors must be asked to try it."""


class ImprovePage(Struct, frozen=True):
    """Where a run's panel is wrong in the tuning half, and what may be changed."""

    labels: SplitLabels
    offers: tuple[OfferedChange, ...] = ()
    gain: float | None = None
    """The smallest gain that the next try could show; ``None`` if the holdout can show none."""


class Adoption(Struct, frozen=True):
    """A panel that was adopted: its file, where its parent was put, and what its try showed."""

    panel: Path
    kept: Path
    adopted: PanelAdopted
