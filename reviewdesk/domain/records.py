"""Frozen records that the desk, the command line and the app pass to each other."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from hashlib import sha256
from shlex import quote
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from reviewdesk.domain.assessment.result import Assessment, Flag
from reviewdesk.domain.values import AgreementSource, Band, Decision
from reviewdesk.domain.verdict import CanonicalVerdict, Verdict, canonical_json, canonical_texts


class Truth(StrEnum):
    """A person's ground truth for an item; ``disputed`` if reviewers differ."""

    PASS = "pass"
    FAIL = "fail"
    UNSURE = "unsure"
    DISPUTED = "disputed"


class Design(StrEnum):
    """How the labels behind a figure were drawn; shown beside every metric."""

    NONE = "none"
    AD_HOC = "ad hoc"
    ESCALATED_ONLY = "escalated-only"
    PARTIAL = "partial"
    WEIGHTED = "weighted"
    CENSUS = "census"
    FILE = "file"
    SELECTED = "selected sample"
    """For a juror that was not always asked: the answers of other jurors decided whether it was."""

    @property
    def stands(self) -> bool:
        return self in {Design.WEIGHTED, Design.CENSUS}


class Run(Struct, frozen=True):
    """One report, loaded into a desk."""

    key: int
    hash: str
    name: str
    file: str
    format: str
    loaded_at: str
    seed: str
    verdicts: int
    ballots: int
    flagged: int
    audit: int
    failed_ballots: int
    skipped: int
    notes: tuple[str, ...]
    header: Mapping[str, Any]
    escalation_stated: bool
    file_hash: str = ""
    human_labels: int = 0
    """The number of verdicts that came with a person's label, in the label log or not."""
    whole: int = 0
    """The number of verdicts that the figures describe; an archive holds only some of them."""
    contents: int = 0
    by_verdict: bool = False
    """Whether an older version drew verdicts, which are then the ``contents``."""


class QueueRow(Struct, frozen=True):
    """One line of the queue. ``key`` identifies the verdict inside the desk."""

    key: int
    id: str
    test: str
    decision: Decision | None
    score: float | None
    agreement: float | None
    band: Band | None
    flags: Flag
    stratum: str
    audit: bool
    label: Truth | None
    deferred: bool
    marked: bool = False
    """By the current reviewer, as ``noted``."""
    noted: bool = False
    noted_by_others: bool = False
    agreement_source: AgreementSource = AgreementSource.OURS
    saving: bool = False
    """Whether the reviewer's change to the item waits to be saved; it is shown as if saved."""
    labelled_by_other: bool = False
    """Whether one other person labelled the item, whose label the reviewer may not see yet."""
    open_with: str = ""
    ours_band: Band | None = None

    @property
    def agrees(self) -> tuple[float | None, Band | None]:
        """The agreement to show with its band; our band alone if the report's figure has none."""
        ours = self.band is None and self.ours_band is not None
        return (None, self.ours_band) if ours else (self.agreement, self.band)

    @property
    def decided(self) -> bool:
        return self.label is not None or self.labelled_by_other


SUGGESTION = "suggest"
"""The kind of event that records an agent's suggestion. It changes no state and no figure."""


class Event(Struct, frozen=True):
    """One entry of the label log. ``target`` is the action that an undo or redo refers to."""

    key: int
    seq: int
    kind: str
    reviewer: str
    author: str
    at: str
    run: str | None
    verdict: str | None
    item_hash: str | None
    label: Truth | None
    detail: Mapping[str, Any]
    action: int
    target: int | None
    undone: bool = False


class Head(Struct, frozen=True):
    """The newest event of the log by key and hash; 0 and an empty hash if there is none."""

    key: int = 0
    hash: str = ""


class Applied(Struct, frozen=True):
    """One action's events and changed bytes, which take a reader from ``first`` to ``head``."""

    events: tuple[Event, ...]
    head: Head
    marks: Mapping[int, int]
    held: bytes | None = None
    """The item that the reviewer has claimed since, if the action claimed one."""

    @property
    def first(self) -> int:
        return self.events[0].key


class Item(Struct, frozen=True):
    """Everything about one verdict that a screen or ``show`` needs."""

    run: Run
    row: QueueRow
    item_hash: str
    verdict: Verdict
    assessment: Assessment
    same_content: int
    """How many verdicts of the run share this content, and so the label."""
    note: str | None
    revealed_at: str | None
    """When the reviewer saw the panel's answer in a blind session; ``None`` if never."""
    labelled_before: bool
    """Whether the reviewer has ever labelled this content, undone labels included."""
    history: tuple[Event, ...]
    tags: tuple[str, ...] = ()
    """The reviewer's own tags, in the order given."""
    other_tags: tuple[str, ...] = ()

    @property
    def dimension(self) -> str | None:
        """The criterion, where one response is judged by several."""
        found: str | None = self.verdict.body["case"].get("dimension")
        return found

    @property
    def read_as(self) -> str:
        """The name of the texts that are read: the same for every criterion of one response."""
        if self.dimension is None or not self.verdict.has_response:
            return self.item_hash
        body = self.verdict.body
        names = ("input", "output", "alternative", "reference")
        return sha256(canonical_texts(*map(body.get, names))).hexdigest()


class TagCount(Struct, frozen=True):
    """The number of items that have a tag, from any author."""

    tag: str
    count: int


STEADY = 5
WORKED = 120.0
"""The minimum number of timed labels and their minimum total seconds for a meaningful pace."""
TELLING = 20
"""The pass and fail labels from which figures are shown: an accuracy's interval is 0.35 wide."""


def labels_missing(n: int, left: int) -> int:
    """Return how many more labels figures of ``n`` labels need; ``left`` are all there can be."""
    return max(0, min(TELLING - n, left))


class Pace(Struct, frozen=True):
    """How fast a reviewer labels: the labels per hour, ``None`` if none of them can be timed."""

    per_hour: float | None
    counted: int

    @property
    def mean_dwell(self) -> float | None:
        return 3600 / self.per_hour if self.per_hour else None

    @property
    def steady(self) -> bool:
        """Whether enough labels were timed, over enough minutes, for the pace to be meaningful."""
        if self.counted < STEADY or not self.per_hour:
            return False
        return 3600 * self.counted >= WORKED * self.per_hour


class Progress(Struct, frozen=True):
    """How much of a run a reviewer has done, as counts of what was drawn: contents, or verdicts."""

    verdicts: int
    labelled: int
    flagged: int
    flagged_done: int
    audit: int
    audit_done: int
    deferred: int
    unsure: int
    disputed: int
    left: int = 0


class Metrics(Struct, frozen=True):
    """Calibration figures; counts are fractions where a content was decided both ways."""

    n: int
    ess: float | None
    ece: float
    brier: float | None
    gap: float | None
    accuracy: float | None
    tp: float | None = None
    fn: float | None = None
    tn: float | None = None
    fp: float | None = None
    sensitivity: float | None = None
    specificity: float | None = None
    youden_j: float | None = None
    observed_positive_rate: float | None = None
    corrected_rate: float | None = None
    corrected_rate_low: float | None = None
    corrected_rate_high: float | None = None
    corrected_status: str | None = None
    kappa: float | None = None


class DrawGap(Struct, frozen=True):
    """A place of the draw without a label, and how many labels of its stratum wait behind it."""

    stratum: int
    rank: int
    waiting: int


class Blocker(Struct, frozen=True):
    """An undecided item of the draw, and how many labels wait behind it, or come after it."""

    key: int
    id: str
    waiting: int
    before: bool = False


class Calibration(Struct, frozen=True):
    """The calibration of a run: with every label at weight 1, and weighted to the population."""

    labelled: Metrics
    design: Design
    confidence_source: str
    warnings: tuple[str, ...]
    population: Metrics | None = None
    unsure: int = 0
    disputed: int = 0
    no_verdict: int = 0
    """The number of labelled verdicts that give no row for calibration, for whatever reason."""
    waiting: int = 0
    """In a weighted design, labels without weight until an earlier item of the draw has one."""
    gaps: tuple[DrawGap, ...] = ()

    @property
    def headline(self) -> Metrics:
        return self.population if self.population is not None else self.labelled


class View(Struct, frozen=True):
    """What a reviewer last had on screen in a run; it is kept across restarts."""

    filter: str = ""
    order: str = "draw"
    blind: bool = False
    item: str | None = None
    """The id of the verdict under the cursor."""


class ProposedMap(Struct, frozen=True):
    """A map for a table as text, and the first verdicts that it reads."""

    file: str
    text: str
    verdicts: tuple[CanonicalVerdict, ...]
    notes: tuple[str, ...]

    def command(self, saved: str | None) -> str:
        """Return the commands that open the file by the map, which may be saved already."""
        file = quote(self.file)
        beside = f"{self.file}.map.toml"
        if saved is None:
            return f"reviewdesk map {file} -o {quote(beside)} && reviewdesk open {file}"
        return f"reviewdesk open {file}" + ("" if saved == beside else f" --map {quote(saved)}")


class Loaded(Struct, frozen=True):
    """The result of loading one file."""

    run: Run
    new: bool
    notes: tuple[str, ...] = ()
    unknown_ballots: int = 0


LONGEST = 1 << 25
"""The most characters of an event's detail."""

_Name = Annotated[str, Meta(min_length=1, max_length=100_000)]
_Place = Annotated[int, Meta(ge=1, lt=1 << 62)]


class ChainEvent(Struct, frozen=True, forbid_unknown_fields=True):
    """An event with its place in its chain, as the log stores it, without its key."""

    desk: Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
    reviewer: _Name
    seq: _Place
    kind: Annotated[str, Meta(pattern=r"^[a-z_]{1,40}\Z")]
    at: Annotated[str, Meta(max_length=40)]
    run: Annotated[str, Meta(max_length=100_000)] | None
    verdict: Annotated[str, Meta(max_length=100_000)] | None
    item: Annotated[bytes, Meta(min_length=32, max_length=32)] | None
    label: str | None
    author: _Name
    tentative: Literal[0, 1]
    detail: Annotated[str, Meta(max_length=LONGEST)]
    action: _Place
    target: _Place | None
    prev_hash: Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?\Z")]
    hash: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]

    def row(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = ChainEvent.__struct_fields__
"""The columns of the log, without its key."""


def event_hash(row: Mapping[str, Any]) -> str:
    """Return the sha256 of an event's content together with the hash of the event before it."""
    content = {name: row[name] for name in COLUMNS if name != "hash"}
    item = content["item"]
    content["item"] = item.hex() if item is not None else None
    return sha256(canonical_json(content)).hexdigest()


class Withheld(Struct, frozen=True):
    """The items whose labels by others are hidden: ``waiting`` for one's own, or decided."""

    reviewer: str = ""
    waiting: AbstractSet[bytes] = frozenset()
    others: AbstractSet[bytes] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.waiting or self.others)

    def hides(self, item: bytes) -> bool:
        return item in self.waiting or item in self.others

    def shows(self, item: bytes, author: str) -> bool:
        return author == self.reviewer or not self.hides(item)


NOT_WITHHELD = Withheld()
"""Nothing is withheld, as from the shell."""
