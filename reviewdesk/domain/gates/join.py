"""Joins the labels of a suite to a new report, and compares its panel with an older one."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.jurors.facts import Apart, Difference, paired
from reviewdesk.domain.labels.sampling import FIRST_REST, STRATA
from reviewdesk.domain.records import Truth
from reviewdesk.domain.verdict import SLACK, Decision

ENOUGH = 0.9
"""The share of the labels that a report must hold, and decide, to be gated by them."""

ContentKey = tuple[str, str]
"""The identity of a content in every report: its ``item_hash`` and an empty text. Without an answer
it is the hash of the other texts and the verdict's id."""


class PanelContent(Struct, frozen=True):
    """The content of one verdict, or one that labels were drawn from, and what a panel decided."""

    item_hash: str
    stratum: int
    content: str = ""
    """The hash of the texts of a content without an answer, whose ``item_hash`` no other run has;
    empty if there is an answer."""
    id: str = ""
    """The verdict's id; in a frame only for a content without an answer."""
    decision: Decision | None = None
    """``None`` also if a suite does not state what the labelled panel decided."""
    answer: str = ""
    """The hash of the content without its rubric; empty without an answer, or if not stated."""
    decided: tuple[int, int] | None = None
    """In a frame, how many verdicts on it pass and how many fail; ``None`` if not stated."""

    @property
    def item(self) -> bytes:
        return bytes.fromhex(self.item_hash)

    @property
    def key(self) -> ContentKey:
        return (self.content, self.id) if self.content else (self.item_hash, "")


class LabelRow(Struct, frozen=True):
    """A row of a labels file: a person's label, a judge's confidence and correctness, or both.

    What the row does not say is ``None``.
    """

    line: int
    confidence: float | None = None
    correct: bool | None = None
    weight: float | None = None
    """How many contents the label stands for."""
    confidence_source: str | None = None
    truth: Truth | None = None
    id: str | None = None
    run: str | None = None
    test: str | None = None
    item_hash: str | None = None
    decision: str | None = None
    """The decision of the panel that was labelled."""
    stratum: str | None = None
    pi: float | None = None
    """The chance by which it was drawn."""
    selection: str | None = None
    note: str | None = None
    reviewer: str | None = None
    time: str | None = None
    tags: tuple[str, ...] | None = None
    adjudicated: bool | None = None
    blind: bool | None = None
    seen: bool | None = None
    half: str | None = None
    """Stated for a label on which a panel was tuned."""

    @property
    def place(self) -> int | None:
        """The index of its stratum; ``None`` unless the row says how it was drawn from one."""
        chance = self.pi is not None and 0 < self.pi <= 1 + SLACK
        known = self.stratum in STRATA and chance and self.selection == "draw"
        return STRATA.index(self.stratum or "") if known else None

    @property
    def drawn(self) -> bool:
        return self.place is not None and self.weight is not None

    @property
    def decided(self) -> bool:
        """Whether the panel that was labelled decided pass or fail, as far as the row says."""
        return self.decision in {None, *_RIGHT.values()}


class SuiteLabels(Struct, frozen=True):
    """A suite's labels, each content once; ``frame``, if known, is what they were drawn from."""

    labels: tuple[LabelRow, ...]
    frame: tuple[PanelContent, ...] | None
    source: str | None = None
    unanswered: tuple[LabelRow, ...] = ()

    @property
    def drawn(self) -> bool:
        return all(label.drawn for label in self.labels)


class JoinCounts(Struct, frozen=True):
    """How many labels of a suite match an answer in a report, and how much of the frame it holds.

    The id of a ``changed`` label is in the report, with another content; for a ``one_sided`` label
    only one side has an answer, or the suite does not say. Of the ``frame`` contents (``None``
    without a frame) the report has ``held``, and it has ``extra`` others.
    """

    labels: int
    joined: int
    changed: int
    one_sided: int
    missing: int
    frame: int | None
    held: int
    extra: int
    reworded: int = 0
    """How many of the joined labels belong to an answer under another rubric."""

    @property
    def enough(self) -> bool:
        return self.joined >= ENOUGH * self.labels - SLACK

    @property
    def whole(self) -> bool:
        return self.frame is not None and self.held == self.frame


class Joined(Struct):
    """The labels of a suite, joined to a report.

    ``labels``, ``strata`` and ``items`` are by item of the report or by content. ``sizes`` counts
    by stratum the contents that the new panel decides, ``decided`` its passes and fails on them.
    """

    counts: JoinCounts
    labels: dict[bytes, LabelRow]
    strata: dict[bytes, int]
    items: dict[ContentKey, bytes]
    sizes: dict[int, int] = {}
    decided: dict[int, tuple[int, int]] = {}


def join(suite: SuiteLabels, report: Sequence[PanelContent], *, any_rubric: bool = False) -> Joined:
    """Join labels to the verdicts of a report on the same content.

    An id alone joins only where neither side has an answer and the other texts agree, if known.
    With ``any_rubric``, the same answer to the same input joins as well, if each side has it
    exactly once.
    """
    frame = {one.item_hash: one for one in suite.frame or ()}
    items = {one.key: one.item for one in report}
    reworded = _reworded(frame.values(), report) if any_rubric else {}
    items |= reworded
    hashes = {one.item_hash: one.item for one in report}
    ids = {one.id: one for one in report}
    found = dict[bytes, LabelRow]()
    lost = Counter[str]()
    for label in suite.labels:
        known = frame.get(label.item_hash or "")
        item = items.get(known.key) if known else hashes.get(label.item_hash or "")
        there = ids.get(label.id or "")
        if item is None and there and there.content and not label.item_hash:
            item = there.item
        if item is not None:
            found[item] = label
            lost["reworded"] += known is not None and known.key in reworded
        else:
            mine = None if known is None else not known.content
            theirs = None if there is None else not there.content
            if theirs and mine is None and label.item_hash:
                mine = True
            why = "changed" if mine is theirs else "one_sided"
            lost["missing" if theirs is None else why] += 1
    there_too = {one.key: item for one in frame.values() if (item := items.get(one.key))}
    strata = {there_too[one.key]: one.stratum for one in frame.values() if one.key in there_too}
    contents: dict[int, set[bytes]] = {}
    passes = Counter[int]()
    fails = Counter[int]()
    for one in report:
        h = strata.get(one.item)
        if h is None:
            continue
        decided = one.decision in (Decision.PASS, Decision.FAIL)
        if decided or h % FIRST_REST == 2:
            contents.setdefault(h, set()).add(one.item)
        if decided:
            (passes if one.decision is Decision.PASS else fails)[h] += 1
    return Joined(
        JoinCounts(
            labels=len(suite.labels),
            joined=len(found),
            frame=None if suite.frame is None else len(frame),
            held=len(strata),
            extra=len(hashes) - len(strata) if frame else 0,
            **{name: lost[name] for name in ("changed", "one_sided", "missing", "reworded")},
        ),
        found,
        strata,
        there_too,
        {h: len(some) for h, some in contents.items()},
        {h: (passes[h], fails[h]) for h in contents},
    )


def _reworded(
    frame: Collection[PanelContent], report: Sequence[PanelContent]
) -> dict[ContentKey, bytes]:
    """Find the items of a report that have a content of the frame under another rubric."""
    items = {one.key: one for one in report}
    mine = Counter(one.answer for one in frame)
    theirs = Counter(one.answer for one in items.values())
    answers = {one.answer: one.item for one in items.values() if theirs[one.answer] == 1}
    return {
        one.key: answers[one.answer]
        for one in frame
        if one.answer in answers and mine[one.answer] == 1 and one.key not in items
    }


def frame_of(contents: Iterable[PanelContent]) -> tuple[PanelContent, ...]:
    """Return each content of a run in the stratum of its first flagged verdict, else its first."""
    contents = list(contents)
    decided = decisions(contents)
    counts = Counter((one.key, one.decision) for one in contents)
    found: dict[ContentKey, PanelContent] = {}
    for one in contents:
        known = found.get(one.key)
        if known is None or one.stratum < FIRST_REST <= known.stratum:
            name = one.id if one.content else ""
            sides = counts[one.key, Decision.PASS], counts[one.key, Decision.FAIL]
            found[one.key] = replace(one, id=name, decision=decided[one.key], decided=sides)
    return tuple(found.values())


def decisions(contents: Iterable[PanelContent]) -> dict[ContentKey, Decision | None]:
    """Return the decision of each content: ``None`` if its verdicts differ."""
    found: dict[ContentKey, Decision | None] = {}
    for one in contents:
        same = found.setdefault(one.key, one.decision) is one.decision
        found[one.key] = one.decision if same else None
    return found


def sizes_by_weight(made: Joined, passed: Mapping[bytes, Sequence[bool]]) -> None:
    """Set the sizes of strata from the labels' weights; ``passed`` has each item's decisions."""
    labels = {item: label for item, label in made.labels.items() if item in passed}
    for h in {label.place for label in labels.values() if label.place is not None}:
        mine = {item: label for item, label in labels.items() if label.place == h}
        mass = sum(label.weight or 0.0 for label in mine.values())
        made.sizes[h] = max(round(mass), len(mine))
        every = [one for item in mine for one in passed[item]]
        scale = made.sizes[h] / len(mine)
        made.decided[h] = round(scale * sum(every)), round(scale * (len(every) - sum(every)))


_RIGHT = {Truth.PASS: Decision.PASS, Truth.FAIL: Decision.FAIL}


class PairedDecision(Struct, frozen=True):
    """The decisions of two panels on one content, and its label or ``None``."""

    stratum: int
    new: Decision | None
    old: Decision | None
    truth: Truth | None = None


class PanelDecisions(Struct, frozen=True):
    """A panel's decisions by label line and by content; ``None`` where verdicts differ."""

    of_labels: Mapping[int, Decision | None]
    of_contents: Mapping[ContentKey, Decision | None]

    @staticmethod
    def of_report(labels: SuiteLabels, contents: Sequence[PanelContent]) -> "PanelDecisions":
        """Arrange the decisions of a report by the labels that are joined to its answers."""
        found = decisions(contents)
        keys = {one.item: one.key for one in contents}
        joined = join(labels, contents, any_rubric=True)
        return PanelDecisions(
            {label.line: found[keys[item]] for item, label in joined.labels.items()},
            {key: found[keys[item]] for key, item in joined.items.items()},
        )

    @staticmethod
    def of_suite(labels: SuiteLabels) -> "PanelDecisions | None":
        """Arrange the decisions of the labelled panel; ``None`` if the suite does not say."""
        frame = {one.item_hash: one.decision for one in labels.frame or ()}
        if not any(frame.values()):
            return None
        mine = {label.line: frame[label.item_hash] for label in labels.labels if label.item_hash}
        return PanelDecisions(mine, {one.key: one.decision for one in labels.frame or ()})


def pairs(
    labels: SuiteLabels, new: PanelDecisions, old: PanelDecisions
) -> Iterator[PairedDecision]:
    """Pair both panels' decisions on the contents of the labels, if no panel was tuned on them."""
    frame = {one.item_hash: one for one in labels.frame or ()} if labels.drawn else {}
    for label in labels.labels:
        known = frame.pop(label.item_hash or "", None)
        if label.half:
            continue
        if label.line in new.of_labels and label.line in old.of_labels:
            both = new.of_labels[label.line], old.of_labels[label.line]
            yield PairedDecision(known.stratum if known else 0, *both, label.truth)
    for one in frame.values():
        if one.key in new.of_contents and one.key in old.of_contents:
            yield PairedDecision(one.stratum, new.of_contents[one.key], old.of_contents[one.key])


def change(found: Sequence[PairedDecision]) -> Difference:
    """Estimate ``right(new) - right(old)`` for such items as the pairs; at least one is needed.

    A cell holds the pairs of one stratum and kind: both decide and differ (+1 or -1), or only one
    decides (0, and +1 or -1). Contents of one test count as independent.
    """
    strata = Counter(one.stratum for one in found)
    sampled = Counter(one.stratum for one in found if one.truth in _RIGHT)
    groups: dict[tuple[int, int, int], list[PairedDecision]] = {}
    for one in found:
        new, old = (side in {Decision.PASS, Decision.FAIL} for side in (one.new, one.old))
        if (new or old) and not (new and old and one.new is one.old):
            groups.setdefault((one.stratum, -int(old), int(new)), []).append(one)
    cells = []
    for (h, least, most), mine in groups.items():
        # A pair counts as right if it adds the most that it can.
        better = [
            one.new is _RIGHT[one.truth] if most else one.old is not _RIGHT[one.truth]
            for one in mine
            if one.truth and one.truth in _RIGHT
        ]
        rate = sampled[h] / strata[h]
        right = sum(better)
        cells.append(Apart(h, len(mine), len(better), right, rate, least=least, most=most))
    return paired("", len(found), cells, sampled=True)
