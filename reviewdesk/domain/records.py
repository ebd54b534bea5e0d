"""The frozen records that cross the boundaries between desk, command line and app."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from reviewdesk.domain.assessment.assess import Assessment
from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.jury.agreement import AgreementSource
from reviewdesk.domain.verdict import Band, Decision, Verdict


class Truth(StrEnum):
    """What a response deserved, in a person's judgement; ``disputed`` where reviewers differ."""

    PASS = "pass"
    FAIL = "fail"
    UNSURE = "unsure"
    DISPUTED = "disputed"


class Design(StrEnum):
    """How the labels behind a figure were drawn; stands beside every metric."""

    NONE = "none"
    AD_HOC = "ad hoc"
    ESCALATED_ONLY = "escalated-only"
    PARTIAL = "partial"
    WEIGHTED = "weighted"
    CENSUS = "census"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Run:
    """One loaded report."""

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
    human_labels: int = 0
    """Verdicts that came with a label of a person's, taken into the log or not."""


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One line of the queue. ``key`` names the verdict inside the desk."""

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
    tentative: bool
    deferred: bool
    marked: bool = False
    """Whether the reviewer who asks marked it."""
    agreement_source: AgreementSource = AgreementSource.OURS
    """Whose ``agreement`` and ``band`` are."""


@dataclass(frozen=True, slots=True)
class Event:
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
    tentative: bool = False
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Item:
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
    """When the reviewer saw the panel's answer in a blind session, if ever."""
    labelled_before: bool
    """Whether the reviewer has ever labelled this content, undone labels included."""
    history: tuple[Event, ...]
    tags: tuple[str, ...] = ()
    """The reviewer's own, in the order given."""
    other_tags: tuple[str, ...] = ()
    """Those of all other authors, each once."""
    marked: bool = False


@dataclass(frozen=True, slots=True)
class TagCount:
    """How many items carry a tag, whoever gave it."""

    tag: str
    count: int


STEADY = 5


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a reviewer decides; ``None`` where no label can be timed.

    ``median_dwell`` is in seconds per label, ``counted`` the number of labels behind both figures.
    """

    per_hour: float | None
    median_dwell: float | None
    counted: int

    @property
    def steady(self) -> bool:
        """Whether enough labels were timed for a pace to say something."""
        return self.counted >= STEADY


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a reviewer has come in a run."""

    verdicts: int
    labelled: int
    flagged: int
    flagged_done: int
    audit: int
    audit_done: int
    deferred: int
    unsure: int
    disputed: int


@dataclass(frozen=True, slots=True)
class Metrics:
    """Calibration figures of one set of rows; ``None`` is undefined."""

    n: int
    ess: float | None
    ece: float
    brier: float | None
    gap: float | None
    accuracy: float | None
    tp: int | None
    fn: int | None
    tn: int | None
    fp: int | None
    sensitivity: float | None
    specificity: float | None
    youden_j: float | None
    observed_positive_rate: float | None
    corrected_rate: float | None
    corrected_rate_low: float | None
    corrected_rate_high: float | None
    corrected_status: str | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """The two lines of the strip: every label at weight 1, and the weighted population."""

    labelled: Metrics
    population: Metrics | None
    design: Design
    confidence_source: str
    unsure: int
    disputed: int
    no_verdict: int
    rowless: int
    """Labelled verdicts that make no row, for whatever reason."""
    waiting: int
    """Labels that weigh nothing until an earlier item of the draw has one, in a weighted design."""
    warnings: tuple[str, ...]

    @property
    def headline(self) -> Metrics:
        """The figures that may be quoted: the population's where the design carries them."""
        return self.population if self.population is not None else self.labelled


@dataclass(frozen=True, slots=True)
class View:
    """What a reviewer last had on screen in a run; kept across restarts."""

    filter: str = ""
    order: str = "draw"
    blind: bool = False
    item: str | None = None
    """The id of the verdict under the cursor."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came of loading one file."""

    run: Run
    new: bool
    notes: tuple[str, ...] = field(default=())
    unknown_ballots: int = 0
    """Ballots whose answer was not understood."""
