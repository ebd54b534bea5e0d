"""Gate a new report by the labels of a suite, and compare its panel with older ones."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property
from math import nan
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.files import named
from reviewdesk.desk.labels.rows import suite_rows
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.domain.gates.expect import Expectation, Finding, GateStatus, TargetValue
from reviewdesk.domain.gates.join import (
    ENOUGH,
    JoinCounts,
    Joined,
    LabelRow,
    PanelContent,
    PanelDecisions,
    SuiteLabels,
    change,
    join,
    pairs,
    sizes_by_weight,
)
from reviewdesk.domain.labels.label_columns import LabelledRows, make_rows
from reviewdesk.domain.labels.sampling import FIRST_REST, LabelledRow, RunFigures
from reviewdesk.domain.records import Run
from reviewdesk.domain.verdict import SLACK, Decision
from reviewdesk.errors import SuiteError, UsageError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.labels.writer import as_frame, as_jsonl
from reviewdesk.reports.suites.matchers import fitting
from reviewdesk.reports.suites.suite import CalibrationGate, read_suite_labels
from reviewdesk.store import figures

_WRONG = {"pass": Decision.FAIL, "fail": Decision.PASS}
OpenDesk = Callable[[], Desk]


class OlderPanel(Struct, frozen=True):
    """A panel that a new one is compared with; ``contents`` is ``None`` for that of the suite."""

    role: str
    name: str
    margin: float
    contents: list[PanelContent] | None


class NewReport:
    """A report, loaded as the only run of a temporary desk."""

    def __init__(self, desk: Desk, run: Run, name: str) -> None:
        self.desk = desk
        self.run = run
        self.name = name
        self.older: tuple[OlderPanel, ...] = ()

    @cached_property
    def contents(self) -> list[PanelContent]:
        return figures.contents(self.desk.conn, self.run.key)


@contextmanager
def loaded_report(source: Source, options: LoadOptions | None = None) -> Iterator[NewReport]:
    with (
        TemporaryDirectory(prefix="reviewdesk-") as folder,
        closing(Desk.open(Path(folder, "desk.db"), reviewer="gate")) as desk,
    ):
        yield NewReport(desk, desk.load(source, options).run, source.shown_name)


def older_panels(
    report: Source | None,
    options: LoadOptions | None,
    parent: Source | None,
    baseline: Source | None,
    margin: float | None,
) -> Iterator[OlderPanel]:
    """Yield what a report's panel is compared with; without a ``baseline``, the labelled panel."""
    if parent is None:
        if baseline is not None or margin is not None:
            raise UsageError("a margin or a baseline without a parent", "Add --against FILE.")
        return
    if margin is None or not 0 < margin < 1:
        raise UsageError(
            "--against needs a margin, the accuracy that the new panel may lose",
            "Add one above 0 and below 1, such as --margin 0.02.",
        )
    if report is None:
        raise UsageError("--against needs the report of the new panel", "Add --report FILE.")
    if report.stamp and report.stamp == parent.stamp:
        problem = f"{report.shown_name}: is compared with itself, which cannot fail"
        raise UsageError(problem, "Name the report of the panel before with --against.")
    for role, source in (("parent", parent), ("baseline", baseline)):
        if source is None:
            yield OlderPanel(role, "the panel that was labelled", margin, None)
            continue
        with loaded_report(source, options) as found:
            yield OlderPanel(role, found.name, margin, found.contents)


def finding(labels: SuiteLabels, new: list[PanelContent], older: OlderPanel) -> Finding:
    """Check that a new panel loses no more than the margin to an older one; skip if not shown."""
    limit = -older.margin
    expected = Expectation(f"change_from_{older.role}", fitting({"minimum": limit}))

    def skipped(reason: str) -> Finding:
        return Finding(expected, TargetValue(None, skip=reason), GateStatus.SKIP, reason)

    if labels.drawn and labels.frame is None:
        return skipped("the suite does not list what its labels are drawn from: export it again")
    if older.contents is None:
        old = PanelDecisions.of_suite(labels)
    else:
        old = PanelDecisions.of_report(labels, older.contents)
    if old is None:
        return skipped(
            "the suite does not say what the panel decided that was labelled: name its report with "
            "--baseline, or export the suite again"
        )
    count = len(labels.labels)
    if len(old.of_labels) < ENOUGH * count - SLACK:
        return skipped(
            f"only {len(old.of_labels)} of {count} labels are of an answer in {older.name}; "
            f"{ENOUGH:.0%} are needed"
        )
    both = tuple(pairs(labels, PanelDecisions.of_report(labels, new), old))
    tuned = sum(one.half is not None for one in labels.labels)
    left = f"; {tuned} labels of the tuning half are left out" if tuned else ""
    if not both:
        return skipped(f"no label is of an answer in both reports ({older.name}){left}")
    worst = change([replace(one, new=_WRONG.get(one.truth or one.old or "")) for one in both])
    if worst.high >= limit - SLACK:
        return skipped(
            f"a panel that is wrong everywhere would not fail a margin of {older.margin:g}: "
            "give a smaller one, or more labels"
        )
    found = change(both)
    note = f"{found.apart} of {found.items} decisions differ from {older.name}{left}"
    reading = TargetValue(found.estimate, low=found.low, high=found.high)
    if found.high < limit - SLACK:
        return Finding(expected, reading, GateStatus.FAIL, note, found.high - limit)
    if found.low >= limit - SLACK:
        return Finding(expected, reading, GateStatus.PASS, note, found.low - limit)
    reason = f"{found.low:.4g} to {found.high:.4g} reaches past {limit:.6g}; {note}"
    return Finding(expected, reading, GateStatus.SKIP, reason)


class JoinedReport(Struct, frozen=True):
    """The verdicts of a new report under a suite's labels, weighed by the draw of the suite.

    ``doubts`` say why the labels may not represent the report, ``short`` why they are too few.
    """

    made: LabelledRows
    counts: JoinCounts
    passed: int
    decided: int
    doubts: tuple[str, ...]
    short: tuple[str, ...]
    notes: tuple[str, ...]
    changes: tuple[Finding, ...]


def joined_report(
    suite: str, gate: CalibrationGate, folder: Path, open_desk: OpenDesk, report: NewReport
) -> JoinedReport:
    """Join the labels of an entry to the new report; SuiteError if none can be measured there."""
    labels = _labels(gate, folder, open_desk)
    any_rubric = bool(report.older)
    found = join(labels, report.contents, any_rubric=any_rubric)
    if not found.labels:
        raise SuiteError(
            suite,
            gate.source_line,
            f"report: {report.name}: {_what_joined(found.counts)}",
            "Judge the answers that were labelled, or label those of the report.",
        )
    conn = report.desk.conn
    key = report.run.key
    silent = replace(labels, labels=labels.unanswered)
    unanswered = join(silent, report.contents, any_rubric=any_rubric).labels
    joined = {**unanswered, **found.labels}
    truths = {item: label.truth for item, label in joined.items() if label.truth}
    # As in a run, labels on contents that were drawn without a decision count among those drawn.
    apart = {item for item in found.labels if found.strata.get(item, 0) % FIRST_REST == 2}
    every = figures.of_items(conn, key, truths)
    rows = [row for row in every if row.judged or row.item in apart]
    totals = _totals(figures.run_figures(conn, key), labels, found, rows)
    placed = _placed(rows, joined, found.strata, drawn=labels.drawn)
    source = labels.source or totals.confidence_source
    weights = {item: label.weight or 0.0 for item, label in found.labels.items()}
    given = [weights.get(row.item, nan) for row in placed] if labels.drawn else None
    made = make_rows(placed, totals, source, given)
    notes: tuple[str, ...] = ()
    if made.left_out and source != totals.confidence_source:
        made = make_rows(placed, totals, totals.confidence_source, given)
        notes = (f"confidence by {totals.confidence_source}, in the suite by {source}",)
    if not made.verdicts:
        raise SuiteError(
            suite,
            gate.source_line,
            f"report: {report.name} has no decision and confidence for any of the "
            f"{len(found.labels)} joined labels",
            "Judge again, or read it with the options of the first report, such as --threshold.",
        )
    changes = tuple(finding(labels, report.contents, one) for one in report.older)
    unshown = (
        f"{one.expected.target}: {one.reading.skip or one.note}"
        for one in changes
        if one.status is GateStatus.SKIP
    )
    if extra := found.counts.extra:
        more = f"{extra} contents of the report are not in the suite and count nowhere"
        notes = (*notes, more)
    counts = found.counts
    doubts = []
    if counts.frame is None:
        doubts.append("the suite does not list what its labels are drawn from: export it again")
    elif not counts.whole:
        lost = f"{counts.frame - counts.held} of the {counts.frame} contents"
        doubts.append(f"the report lacks {lost} that labels are drawn from")
    if not labels.drawn:
        doubts.append("not every label says how it was drawn")
    short = []
    if not counts.enough:
        short.append(f"only {_what_joined(counts)}; {ENOUGH:.0%} are needed")
    asked = {item for item, label in found.labels.items() if label.decided}
    measured = len(asked & {row.item for row in made.verdicts})
    if measured < ENOUGH * len(asked) - SLACK:
        short.append(
            f"the panel decided only {measured} of the {len(asked)} joined labels that were "
            f"decided before; {ENOUGH:.0%} are needed"
        )
    return JoinedReport(
        made=made,
        counts=found.counts,
        passed=totals.passed,
        decided=totals.passed + totals.failed,
        doubts=tuple(doubts),
        short=(*short, *unshown),
        notes=(f"of {report.name}: {_what_joined(found.counts)}", *notes),
        changes=changes,
    )


def _labels(gate: CalibrationGate, folder: Path, open_desk: OpenDesk) -> SuiteLabels:
    if gate.run is None:
        frame = None if gate.frame is None else Source.from_path(folder / named(gate.frame))
        return read_suite_labels(Source.from_path(folder / named(gate.labels or "")), frame)
    desk = open_desk()
    made = suite_rows(desk, desk.run(gate.run), None)
    name = f"the labels of {gate.run}"
    held = Source.from_bytes(name, as_frame(made.frame).encode()) if made.frame else None
    return read_suite_labels(Source.from_bytes(name, as_jsonl(made.rows).encode()), held)


def _totals(
    whole: RunFigures, labels: SuiteLabels, found: Joined, rows: list[LabelledRow]
) -> RunFigures:
    if labels.frame is None and not labels.drawn:
        return whole
    if labels.frame is None:
        passed: dict[bytes, list[bool]] = {}
        for row in rows:
            passed.setdefault(row.item, []).append(row.decision is Decision.PASS)
        sizes_by_weight(found, passed)
        return replace(whole, sizes=found.sizes, audits={}, decided=found.decided)
    return replace(
        whole,
        passed=sum(passes for passes, _ in found.decided.values()),
        failed=sum(fails for _, fails in found.decided.values()),
        sizes=found.sizes,
        audits={},
        decided=found.decided,
    )


def _placed(
    rows: list[LabelledRow],
    labels: Mapping[bytes, LabelRow],
    strata: Mapping[bytes, int],
    *,
    drawn: bool,
) -> list[LabelledRow]:
    """Return the rows in the suite's draw; not ``drawn``, each stratum's first place stays free."""
    ranks: dict[int, dict[bytes, int]] = {}
    made = []
    for row in rows:
        h = strata.get(row.item, labels[row.item].place)
        h = row.stratum if h is None else h
        mine = ranks.setdefault(h, {})
        rank = mine.setdefault(row.item, len(mine) + (not drawn))
        made.append(replace(row, stratum=h, rank=rank))
    return made


def _what_joined(counts: JoinCounts) -> str:
    parts = [f"{counts.joined} of {counts.labels} labels joined"]
    if counts.reworded:
        parts.append(f"{counts.reworded} of them under another rubric")
    if counts.changed:
        parts.append(f"{counts.changed} answer changed")
    if counts.one_sided:
        parts.append(f"{counts.one_sided} without an answer to compare")
    if counts.missing:
        parts.append(f"{counts.missing} not in the report")
    return ", ".join(parts)
