"""The honest split of a rubric's labels: a half to tune a panel on, and a half to test it on.

Every step is an event, and the split follows from the events of all desks in their order. A group
in a tuning half stays there; an adoption moves its whole holdout there. A try compares a candidate
with its parent on the holdout, where both are asked the same items.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import product
from math import comb, sqrt
from pathlib import Path
from statistics import NormalDist

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.labels.sampling import FIRST_REST, LabelledRow
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.stats.correction import Cells
from reviewdesk.domain.stats.rates import midp
from reviewdesk.domain.verdict import CanonicalVerdict, Decision, json_sha256, stored_body

KIND = "improve"

LEVEL = 0.025
"""The one-sided level of the first try on a holdout; each further one has half of the last."""

_STEPS = 40
"""The largest weight of an item in the sign test, whose weights are whole numbers."""


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
    """A candidate that is tried on ``items``, hashes of contents; to go on repeats the event."""

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
    """What an adoption reveals; on ``gained`` items the candidate alone was right."""

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


class Split(Struct):
    """A rubric's split: names of groups of near-copies; the last adoption used those ``spent``."""

    rubric: str
    tuning: set[str] = set()
    holdout: set[str] = set()
    spent: set[str] = set()
    seed: str = ""
    open_labels: bool = False
    tries: dict[str, tuple[TryBegun, TryVerdict | None]] = {}
    """The tries of this holdout in their order; one without a verdict was interrupted."""
    adopted: list[PanelAdopted] = []

    def half(self, group: str) -> Half | None:
        """Return where a group belongs; ``None`` for one that came after the split."""
        if group in self.tuning:
            return Half.TUNING
        return Half.HOLDOUT if group in self.holdout else None


def replay(rubric: str, steps: Iterable[Step]) -> Split:
    """Return the split of a rubric after the steps of all desks, in their common order."""
    made = Split(rubric)
    for step in steps:
        if step.rubric != rubric:
            continue
        if isinstance(step, SplitMade):
            made.tuning.update(step.tuning)
            made.holdout = made.holdout.union(step.holdout) - made.tuning
            made.spent = set()
            made.seed = made.seed or step.seed
            made.open_labels |= step.open_labels
        elif isinstance(step, TryBegun):
            made.tries.setdefault(step.name, (step, None))
        elif isinstance(step, PanelAdopted):
            made.tuning |= made.holdout
            made.spent = made.holdout
            made.holdout = set()
            made.tries = {}
            made.adopted.append(step)
        elif step.name in made.tries:
            made.tries[step.name] = made.tries[step.name][0], step.verdict
    return made


def group_of(text: str | None, test: str, verdict: str) -> str:
    """Return a case's near-copy group; a test that only repeats the verdict's id is ignored."""
    plain = " ".join((text or "").casefold().split())
    return json_sha256([plain, "" if plain and test == verdict else test])[:32]


def rubric_name(rubrics: Collection[str | None]) -> str:
    return json_sha256(sorted(one or "" for one in rubrics))[:32]


def halved(
    groups: Iterable[tuple[str, str]], known: Split, seed: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the groups that join the tuning half and the holdout; each has a name and a stratum.

    In each stratum new groups, by a keyed hash, fill up the holdout to half of all groups; the
    remainder of an odd stratum is carried to the next.
    """
    strata = defaultdict[str, list[str]](list)
    for name, stratum in dict(reversed([*groups])).items():
        strata[stratum].append(name)
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


class LabelledCase(LabelledRow, frozen=True, kw_only=True):
    """A verdict that people labelled pass or fail, in its group of near-copies."""

    text: str
    """The whole verdict, as the desk stores it."""
    group: str
    counts: bool
    """Whether the label counts for the draw."""
    tags: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def body(self) -> CanonicalVerdict:
        return stored_body(self.text)

    @property
    def should_pass(self) -> bool:
        return self.truth is Truth.PASS

    @property
    def passed(self) -> bool | None:
        """What the panel of the report decided; ``None`` if neither pass nor fail."""
        return self.decision is Decision.PASS if self.judged else None


class SplitLabels(Struct, frozen=True):
    """A run's labels by half; ``later`` came after the split, ``left_out`` were not given blind."""

    run: Run
    split: Split
    rubric: str | None
    """``None`` unless all cases have one."""
    tuning: Sequence[LabelledCase]
    holdout: Sequence[LabelledCase]
    later: Sequence[LabelledCase]
    left_out: int
    sizes: Mapping[int, int]

    @property
    def judged(self) -> Sequence[LabelledCase]:
        return self.tuning[:500]

    @property
    def asked(self) -> tuple[LabelledCase, ...]:
        """The cases that a try asks about: the first in the draw of each group of near-copies."""
        found: dict[str, LabelledCase] = {}
        for one in sorted(self.holdout, key=lambda one: (one.rank, one.stratum, one.key)):
            if one.counts:
                found.setdefault(one.group, one)
        return tuple(found.values())

    @property
    def gain(self) -> float | None:
        return smallest_gain(self.sizes, [one.stratum for one in self.asked], len(self.split.tries))

    @property
    def wrong(self) -> tuple[LabelledCase, ...]:
        return tuple(one for one in self.tuning if one.passed is (not one.should_pass))

    @property
    def cells(self) -> Cells:
        """The decided cases of the tuning half, by the panel's decision and the label."""
        count = Counter((one.passed, one.should_pass) for one in self.tuning)
        every = (True, True), (False, True), (False, False), (True, False)
        return Cells(*(count[cell] for cell in every))

    def said(self, field: str) -> list[tuple[str, int, int]]:
        """Return wrong cases' tags or notes by frequency, with their false passes and fails."""
        counts = defaultdict[str, Counter[bool | None]](Counter)
        for one in self.wrong:
            for text in getattr(one, field):
                counts[" ".join(text.split())][one.passed] += 1
        order = sorted(counts.items(), key=lambda pair: (-pair[1].total(), pair[0]))
        return [(text, found[True], found[False]) for text, found in order]


class WrittenCandidate(Struct, frozen=True):
    """A candidate's file, what differs in it line by line, and whether a try asks jurors."""

    path: Path
    parent: Path
    diff: tuple[str, ...]
    asks: bool


# Tries


class TriedCell(Struct, frozen=True):
    """The ``asked`` items of a stratum of ``size`` contents: right by one alone, or by both."""

    stratum: int
    size: int
    asked: int
    gained: int = 0
    lost: int = 0
    both: int = 0


def cells(sizes: Mapping[int, int], found: Iterable[tuple[int, bool, bool]]) -> list[TriedCell]:
    """Count asked items by stratum; each has its stratum, and if parent and candidate are right."""
    rows = defaultdict[int, Counter[tuple[bool, bool]]](Counter)
    for stratum, before, after in found:
        rows[stratum][before, after] += 1
    return [
        TriedCell(h, sizes[h], n.total(), n[False, True], n[True, False], n[True, True])
        for h, n in sorted(rows.items())
    ]


def level(k: int) -> float:
    """Return the one-sided level of the try after ``k`` others on the same holdout."""
    return LEVEL / float(2**k)


def try_figures(found: Collection[TriedCell], k: int) -> TryFigures:
    """Return how often parent and candidate are right on such items, and by how much they differ.

    ``D = Σ W(g - l)`` over the flagged verdicts and the rest, W their share of the run, g and l the
    shares that are gained and lost, through the draw, with MOVER's interval at ``1 - 2·level(k)``
    over their mid-p intervals, at Kish's effective number of items, with the correlation ``-r`` of
    two shares of one sample. Source: Zou and Donner 2008; Donner and Zou 2012.
    """
    z = NormalDist().inv_cdf(1 - level(k))
    size = sum(one.size for one in found)
    before = after = sum(one.both * one.size / one.asked for one in found) / size
    below = above = 0.0
    for is_rest in (False, True):
        side = [one for one in found if (one.stratum >= FIRST_REST) is is_rest]
        if not side:
            continue
        mass = sum(one.size for one in side)
        n = mass**2 / sum(one.size**2 / one.asked for one in side)
        gain = sum(one.size * one.gained / one.asked for one in side) / mass
        loss = sum(one.size * one.lost / one.asked for one in side) / mass
        gains = midp(gain * n, n, z)
        losses = midp(loss * n, n, z)
        less = gain - gains[0], losses[1] - loss
        more = gains[1] - gain, loss - losses[0]
        r = sqrt(gain * loss / ((1 - gain) * (1 - loss))) if gain + loss < 1 else 1.0
        weight = mass / size
        before += weight * loss
        after += weight * gain
        below += weight**2 * (less[0] ** 2 + less[1] ** 2 + 2 * r * less[0] * less[1])
        above += weight**2 * (more[0] ** 2 + more[1] ** 2 + 2 * r * more[0] * more[1])
    made = after - before
    return TryFigures(
        before, after, made, max(made - sqrt(below), -1.0), min(made + sqrt(above), 1.0),
        1 - 2 * level(k), sum(one.asked for one in found), sum(one.gained for one in found),
        sum(one.lost for one in found),
    )  # fmt: skip


def sign_tail(found: Collection[TriedCell]) -> float:
    """Return the probability that changes without effect would gain at least as much as these.

    Each differing item, weighted by ``N_h/n_h`` rounded to 1..``_STEPS``, is a gain or a loss with
    chance one half. Source: Fisher's randomisation test.
    """
    most = max((one.size / one.asked for one in found), default=1.0)
    chances = {0: 1.0}
    gain = 0
    for one in found:
        each = max(1, round(_STEPS * one.size / one.asked / most))
        n = one.gained + one.lost
        gain += each * one.gained
        joined = defaultdict[int, float](float)
        for (total, chance), gains in product(chances.items(), range(n + 1)):
            joined[total + each * gains] += chance * comb(n, gains) / 2**n
        chances = joined
    return sum(chance for total, chance in chances.items() if total >= gain)


def try_verdict(found: Collection[TriedCell], k: int) -> TryVerdict:
    """Return the result of a try, on which the paired interval and the sign test must agree.

    The interval is approximate where few items differ; the exact test bounds false results.
    """
    made = try_figures(found, k)
    if made.low > 0 and sign_tail(found) <= level(k):
        return TryVerdict.BETTER
    turned = [replace(one, gained=one.lost, lost=one.gained) for one in found]
    if made.high < 0 and sign_tail(turned) <= level(k):
        return TryVerdict.WORSE
    return TryVerdict.NOT_SHOWN


def smallest_gain(sizes: Mapping[int, int], strata: Sequence[int], k: int) -> float | None:
    """Return the smallest gain that a candidate which only gains could show, if any."""
    n = len(strata)
    for m in range(1, n + 1):
        # The m gains are spread evenly over the strata.
        wins = [m * (place + 1) // n > m * place // n for place in range(n)]
        found = cells(sizes, zip(sorted(strata), [False] * n, wins, strict=True))
        if try_verdict(found, k) is TryVerdict.BETTER:
            return try_figures(found, k).gain
    return None
