"""Compute the calibration of a labels file, or use the file as the trusted set of another run."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.domain.gates.expect import default_checks
from reviewdesk.domain.gates.join import LabelRow, PanelContent
from reviewdesk.domain.gates.such_items import as_run, as_wrong_and_right
from reviewdesk.domain.labels.label_columns import LabelledRows
from reviewdesk.domain.labels.sampling import FIRST_REST, NOT_STATED, STRATA, Decided
from reviewdesk.domain.labels.summary import panel_intervals
from reviewdesk.domain.records import Calibration, Design, Run
from reviewdesk.domain.stats.calibration import Rows, measure
from reviewdesk.domain.stats.calibration_page import OF_ITSELF, FilePage, of_trusted
from reviewdesk.domain.stats.figures import Estimate, Target
from reviewdesk.domain.stats.reliability import fit
from reviewdesk.domain.verdict import SLACK, Decision
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.labels.reader import ScoreFile, read_scores
from reviewdesk.reports.suites.suite import read_frame
from reviewdesk.store import figures

_DECIDED = {Decision.PASS.value, Decision.FAIL.value}
UNEVEN = "the rows have weights, and the interval needs raw counts"
UNDECIDED = "not every row says what the judge decided, so there is no confusion"
NO_RUN = "the judge decided nothing in this run"


def observed(desk: Desk, run: Run) -> tuple[str, int, int]:
    found = figures.run_figures(desk.conn, run.key)
    return run.name, found.passed, found.passed + found.failed


class FileRows(Struct, frozen=True):
    """The rows of a labels file that count, and warnings about the file.

    ``drawn`` rows represent a whole run. Rows are ``independent`` if each names its content.
    """

    kept: tuple[LabelRow, ...]
    rows: Rows
    source: str | None
    drawn: bool
    warnings: tuple[str, ...]
    independent: bool
    unanswered: tuple[LabelRow, ...]
    """The contents that nobody answered; if the rows are drawn, only the drawn ones."""
    decided: Decided
    """What a frame states about each stratum; empty without one."""

    @property
    def others(self) -> tuple[Rows, ...]:
        """The rows with every unanswered content wrong, and right; () without such contents."""
        return as_wrong_and_right(self.rows, self.unanswered)

    @property
    def run(self) -> LabelledRows | None:
        """The run that the rows were drawn from, or ``None`` if they do not represent one."""
        if not self.drawn or self.rows.passed is None:
            return None
        return as_run(self.kept, self.unanswered, self.decided)


def _unanswered(file: ScoreFile, *, drawn: bool) -> Iterator[LabelRow]:
    """Yield the rows that nobody answered; files of earlier versions lack the confidence."""
    sure = [row.confidence or 0.0 for row in file.rows]
    for at, row in enumerate(file.unanswered):
        known = row.stratum in STRATA and row.decision in _DECIDED
        if known and (row.selection == "draw" or not drawn):
            mean = sum(sure) / max(1, len(sure))
            confidence = mean if row.confidence is None else row.confidence
            yield replace(row, confidence=confidence, item_hash=row.item_hash or str(at))


def file_rows(source: Source, frame: Path | None = None) -> FileRows:
    """Read rows of ``confidence`` and ``correct``; weights count only if every row has one."""
    contents = () if frame is None else read_frame(Source.from_path(frame))
    file = read_scores(source)
    kept, weighted, warnings = _counted_rows(file.rows)
    known = bool(kept) and all(row.decision in _DECIDED for row in kept)
    items = [row.item_hash for row in kept if row.item_hash]
    independent = bool(kept) and len(items) == len(kept)
    places = [row.place for row in kept]
    # Every row is from a draw, and some are from the audit of unflagged verdicts.
    drawn = (
        weighted
        and independent
        and None not in places
        and (
            any(h is not None and h >= FIRST_REST for h in places)
            or bool(contents and all(one.stratum < FIRST_REST for one in contents))
        )
    )
    return FileRows(
        kept=tuple(kept),
        rows=Rows.of(
            [row.confidence or 0.0 for row in kept],
            [row.correct is True for row in kept],
            [row.weight or 0.0 for row in kept] if weighted else None,
            [row.decision == Decision.PASS for row in kept] if known else None,
            items if independent else None,
        ),
        source=file.source,
        drawn=drawn,
        warnings=tuple(warnings),
        independent=independent,
        unanswered=tuple(_unanswered(file, drawn=drawn)),
        decided=_decided(contents),
    )


def _decided(frame: Sequence[PanelContent]) -> Decided:
    found: dict[int, tuple[int, int]] = {}
    for one in frame:
        if one.decided is None:
            return NOT_STATED
        passes, fails = found.get(one.stratum, (0, 0))
        found[one.stratum] = passes + one.decided[0], fails + one.decided[1]
    return found


def file_page(file: FileRows, over: tuple[str, int, int] | None = None) -> FilePage:
    """Compute the figures of rows; ``over`` is another run, whose pass rate they may correct."""
    drawn = file.run
    run, passed, decided = over or ("", 0, 0)
    line = measure(file.rows, passed / decided if decided else None)
    found = fit(file.rows)
    cells = [one for one in (line.tp, line.fn, line.tn, line.fp) if one is not None]
    reason = ""
    if over is None:
        reason = OF_ITSELF
    elif any(row.run == run for row in file.kept):
        reason = "the labels are of this run: calibrate it without a file"
    elif not decided:
        reason = NO_RUN
    elif len(cells) < len(("tp", "fn", "tn", "fp")):
        reason = UNDECIDED
    elif line.ess is None or line.ess < line.n - SLACK * max(line.n, 1):
        reason = UNEVEN
    rate = Estimate(None, reason=reason)
    if over is not None and not reason:
        # After Lang and Reiczigel.
        rate = of_trusted(passed, decided, *cells)
    return FilePage(
        calibration=Calibration(line, Design.FILE, file.source or "file", file.warnings),
        fit=found,
        honest=rate,
        gates=default_checks(line, found.null),
        representative=file.drawn,
        specificity=(None if drawn is None else panel_intervals(drawn, Target.ITEMS).specificity),
    )


def _counted_rows(rows: Sequence[LabelRow]) -> tuple[list[LabelRow], bool, list[str]]:
    """Return the rows that count, whether to weight them, and warnings; weight 0 drops a row."""
    if not rows:
        return [], False, ["the file has no rows, so its ECE of 0 says nothing"]
    heavy = [row for row in rows if row.weight is not None and row.weight > 0]
    if not heavy:
        return [*rows], False, []
    if any(row.weight is None for row in rows):
        return [*rows], False, ["some rows carry no weight, so every row counts as one"]
    light = len(rows) - len(heavy)
    return heavy, True, [f"{light} rows of weight 0 are left out"] if light else []
