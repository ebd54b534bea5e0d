"""Compute everything on the calibration page: how well a run's judge matches its labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.question import answer
from reviewdesk.desk.protocol import OpenFile
from reviewdesk.desk.review.filters import tag_counts
from reviewdesk.desk.review.runs import panels
from reviewdesk.desk.team.agreement import people_err
from reviewdesk.desk.team.claims import labelled, told_marks
from reviewdesk.domain.gates.expect import default_checks
from reviewdesk.domain.jurors.facts import (
    BiasProbe,
    JurorCounts,
    length_probe,
    position_probe,
    trim_named,
)
from reviewdesk.domain.labels.sampling import audit
from reviewdesk.domain.labels.segments import (
    BY,
    UNNAMED,
    Composite,
    SegmentFigures,
    SegmentVerdict,
    composites,
    segment_table,
)
from reviewdesk.domain.panel.samples import by_order
from reviewdesk.domain.records import NOT_WITHHELD, Blocker, DrawGap, Run, Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.calibration_page import CalibrationPage
from reviewdesk.domain.stats.correction import CELLS, Cells
from reviewdesk.domain.stats.figures import ConfidenceSums, SimulatedFigure, Target
from reviewdesk.domain.verdict import Decision, stored_body, verdict_reader
from reviewdesk.errors import UsageError
from reviewdesk.store import figures, queue, runs
from reviewdesk.store.connect import reading
from reviewdesk.store.verdicts import by_key

if TYPE_CHECKING:
    from reviewdesk.domain.labels.label_columns import LabelledRows
    from reviewdesk.domain.run.columns import Columns
    from reviewdesk.domain.stats.dense import Bools


def labelled_ballots(desk: Desk, run: Run) -> tuple[Columns, Bools]:
    """Return the verdicts of a run that people labelled pass or fail, and whether it was a pass."""
    from reviewdesk.domain.jurors import votes

    of = queue.span(desk.conn, run.key)
    marks = told_marks(desk, of, desk.apart.now if desk.double else NOT_WITHHELD)
    return votes.labelled_columns(panels(desk, run), marks)


def juror_counts(desk: Desk, run: Run) -> tuple[JurorCounts, ...]:
    from reviewdesk.domain.jurors import votes

    if run.whole != run.verdicts:
        return ()
    found, deserved = labelled_ballots(desk, run)
    return votes.juror_counts(found, deserved, stated_trims(desk, found.key.tolist()))


def stated_trims(desk: Desk, keys: list[int]) -> dict[int, set[int]]:
    """Return the trimmed seats that the report states, by the place of a verdict among ``keys``."""
    places = {key: place for place, key in enumerate(keys)}
    made = {}
    for key, text in figures.stating_trims(desk.conn, keys).items():
        if (named := trim_named(stored_body(text))) is not None:
            made[places[key]] = named
    return made


def blockers(desk: Desk, run: Run, gaps: Sequence[DrawGap]) -> tuple[Blocker, ...]:
    places = {(gap.stratum, gap.rank): gap.waiting for gap in gaps}
    if not places:
        return ()
    found = figures.at_places(desk.conn, run.key, places)
    return tuple(Blocker(*found[place], n) for place, n in places.items() if place in found)


def skipped(desk: Desk, run: Run) -> tuple[Blocker, ...]:
    """Name the first undecided item of a blind queue with labels after it, and their number."""
    found = desk.first_gap(run)
    if found is None:
        return ()
    key, behind = found
    # Which labels wait depends on the panel's decisions; at most this many do.
    return (Blocker(key, by_key(desk.conn, key)["id"], behind, before=True),)


def labelled_rows(desk: OpenFile, run: Run, source: str | None = None) -> LabelledRows:
    # Imported here because it loads numpy.
    from reviewdesk.domain.labels.label_columns import make_rows

    return make_rows(labelled(desk, run), figures.run_figures(desk.conn, run.key), source)


def calibration_page(
    desk: Desk, run: Run, source: str | None = None, *, jurors: bool = True, full: bool = False
) -> CalibrationPage:
    """Compute a run's calibration page.

    ``jurors`` reads ballots. ``full`` adds the worst segments, what correlates with the scores, and
    where a blind session waits.
    """
    from reviewdesk.domain.labels import summary
    from reviewdesk.domain.stats.calibration import bin_index
    from reviewdesk.domain.stats.reliability import fit

    with reading(desk.conn):
        made = labelled_rows(desk, run, source)
        given = figures.blind_by_item(desk.conn)
        counted = juror_counts(desk, run) if jurors else None
        tags = tuple(tag_counts(desk, run))
        sums = confidence_sums(desk, run, made)
        found = made.lines
        parts = full and run.whole == run.verdicts and found.labelled.n > 0
        worst = _worst_segments(desk, run, made) if parts else {}
    reached = summary.strata(made)
    cells = Counter(made.columns.cell[made.columns.decided].tolist())
    fitted = fit(made.headline)
    return CalibrationPage(
        calibration=found,
        split=summary.split(made.verdicts, made.rows, given),
        alone=summary.alone(made, given, source),
        gates=default_checks(found.headline, fitted.null),
        strata=reached,
        audit=audit(reached, summary.audited(made)),
        verdicts=run.whole,
        labelled=len(made.labelled),
        cells=Cells(*(cells[cell] for cell in range(len(CELLS)))),
        honest=made.share("should_pass"),
        accuracy=made.share("accuracy"),
        intervals=summary.panel_intervals(made, Target.RUN, sums),
        # For similar items, as gates see them: their report or file may lack some confidences.
        such=summary.panel_intervals(made, Target.ITEMS),
        fit=fitted,
        bins=dict(Counter(bin_index(made.rows.confidence).tolist())),
        jurors=counted,
        tags=tags,
        answer=answer(desk, run),
        people=people_err(desk, run),
        worst=worst,
        probes=bias_probes(desk, run) if parts else (),
        blockers=blockers(desk, run, found.gaps),
        skipped=skipped(desk, run) if full else (),
    )


def confidence_sums(desk: Desk, run: Run, made: LabelledRows) -> dict[int, ConfidenceSums]:
    stated = made.figures.scores_stated
    return figures.confidence_sums(desk.conn, run.key, made.source, scores_stated=stated)


def _worst_segments(desk: Desk, run: Run, made: LabelledRows) -> dict[str, SegmentFigures]:
    worst = {}
    for by in BY:
        frame = figures.segment_frame(desk.conn, run.key, by)
        found = [one for one in segment_table(made, frame, by) if one.accuracy is not None]
        if len(found) > 1:
            worst[by] = found[0]
    return worst


def bias_probes(desk: Desk, run: Run) -> tuple[BiasProbe, ...]:
    """Return what correlates with the panel's answers but should not, by labels and both orders."""
    votes = []
    seen: dict[int, tuple[int, bool]] = {}
    read = verdict_reader(run.header, runs.options(desk.conn, run.key))
    with reading(desk.conn):
        made = labelled_rows(desk, run)
        told = figures.bodies(desk.conn, made.labelled)
        lengths = {key: len(stored_body(text).get("output") or "") for key, text in told.items()}
        for unit, (text, decision) in enumerate(figures.pair_bodies(desk.conn, run.key)):
            body = stored_body(text)
            threshold = read(body).policy.threshold
            orders = [by_order(one, threshold) for one in body["jurors"]]
            votes += [
                (unit, said[False] is True, said[True] is True)
                for said in orders
                if len(said) == 2 and set(said.values()) <= {False, True}
            ]
            pair = body.get("output"), body.get("alternative")
            if decision not in {Decision.PASS, Decision.FAIL} or not all(pair):
                continue
            question = body.get("rubric"), body.get("input")
            first, passed = seen.get(hash((question, *reversed(pair))), (unit, None))
            if passed is not None:
                votes.append((first, passed, decision is Decision.FAIL))
            seen[hash((question, *pair))] = unit, decision is Decision.PASS
    drawn = made.weighing.design.stands
    rows: dict[Truth, list[tuple[object, float, float, int]]] = {Truth.PASS: [], Truth.FAIL: []}
    decided = made.columns.decided
    for at, (row, weight) in enumerate(zip(made.labelled, made.weighing.weights, strict=True)):
        score = row.stated_score if made.figures.scores_stated else row.score
        if decided[at] and score is not None and lengths[row.key] and (weight or not drawn):
            own = float(weight) if drawn else 1.0
            rows[row.truth].append((row.item, own, score, lengths[row.key]))
    position = position_probe(votes)
    made_of = [length_probe(f"length_of_{truth}", found) for truth, found in rows.items()]
    return (*made_of, *([] if position is None else [position]))


def frame(desk: OpenFile, run: Run, by: str) -> Sequence[SegmentVerdict]:
    if by not in BY:
        raise UsageError(f"figures are not split by {by!r}", f"Split by one of {', '.join(BY)}.")
    found = figures.segment_frame(desk.conn, run.key, by) if run.whole == run.verdicts else []
    if not found:
        why = f"no verdict has a {by}" if run.whole == run.verdicts else "it is an archive"
        raise UsageError(f"{show_line(run.name, 80)}: {why}", "Split by something else.")
    return found


def segments(desk: Desk, run: Run, by: str) -> tuple[SegmentFigures, ...]:
    with reading(desk.conn):
        return segment_table(labelled_rows(desk, run), frame(desk, run, by), by)


def subjects(
    desk: Desk, run: Run, made: LabelledRows, weights: Mapping[str, float], target: Target
) -> tuple[Composite, ...]:
    """Return the composite of each subject; UsageError for an unknown dimension."""
    by_dimension = frame(desk, run, "dimension")
    dimensions = {one.key: one.segment for one in by_dimension}
    known = dict.fromkeys(dimensions.values())
    for name in weights:
        if name not in known:
            some = ", ".join(show_line(one, 60) for one in [*known][:12])
            raise UsageError(
                f"{show_line(run.name, 80)}: no verdict has the dimension {show_line(name, 60)}",
                f"Its dimensions: {some}.",
            )
    named = {one.key: one.segment for one in figures.segment_frame(desk.conn, run.key, "subject")}
    verdicts = [replace(one, segment=named.get(one.key, UNNAMED)) for one in by_dimension]
    return composites(made, verdicts, dimensions, weights, target)


def composite_table(desk: Desk, run: Run, weights: Mapping[str, float]) -> tuple[Composite, ...]:
    with reading(desk.conn):
        return subjects(desk, run, labelled_rows(desk, run), weights, Target.RUN)


def simulation(
    desk: Desk, run: Run, count: int, source: str | None = None
) -> tuple[SimulatedFigure, ...]:
    from reviewdesk.domain.labels.summary import simulate

    with reading(desk.conn):
        made = labelled_rows(desk, run, source)
        if run.whole != run.verdicts or not made.weighing.design.stands:
            raise UsageError(
                f"{show_line(run.name, 80)}: its labels do not represent the whole run",
                "Label at least one of every group, in order; reviewdesk queue lists them.",
            )
        every = figures.of_items(desk.conn, run.key)
        sums = confidence_sums(desk, run, made)
    return simulate(made, every, sums, count)
