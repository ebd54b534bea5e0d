"""Computes the two lines of the strip from labelled verdicts, with the design of the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from reviewdesk.domain.gates.limits import default_checks
from reviewdesk.domain.labels.label_columns import (
    RunCounts,
    calibration_of,
    coverage_text,
    left_out_warnings,
    one_class_warnings,
)
from reviewdesk.domain.labels.rows import LabelledRow, RunFigures, by_content
from reviewdesk.domain.labels.sampling import decided_strata
from reviewdesk.domain.labels.weighed_rows import LabelledRows, make_rows
from reviewdesk.domain.records import Calibration, Design, Truth
from reviewdesk.domain.stats.calibration import bin_index, counters_of, measure
from reviewdesk.domain.stats.calibration_page import BlindFigures, BlindSplit
from reviewdesk.domain.stats.fit import fit
from reviewdesk.domain.verdict import Decision


def as_wrong_and_right(made: LabelledRows) -> tuple[LabelledRows, ...]:
    """Return the rows with each unanswered item wrong, and with each right; () if there is none."""
    return _both(made, lambda passed, right: passed is right)


def as_fail_and_pass(made: LabelledRows) -> tuple[LabelledRows, ...]:
    """Return the rows with each unanswered item a fail, and with each a pass; () without one."""
    return _both(made, lambda _, passes: passes)


def _both(made: LabelledRows, is_pass: Callable[[bool, bool], bool]) -> tuple[LabelledRows, ...]:
    """Answer every unanswered item of the draw, first with False and then with True.

    Where the labels do not represent the run, every unanswered item counts, as every label does.
    ``is_pass`` takes what the panel decided and the answer, and returns if the item should pass.
    """
    everywhere = not made.weighing.design.stands
    passed = {
        verdict.key: verdict.decision is Decision.PASS
        for verdict, inside in zip(made.labelled, made.weighing.drawn, strict=True)
        if (inside or everywhere) and verdict.unanswered
    }
    if not passed:
        return ()
    return tuple(
        made.with_truths(
            {key: Truth.PASS if is_pass(one, answer) else Truth.FAIL for key, one in passed.items()}
        )
        for answer in (False, True)
    )


def summarise(
    labelled: Sequence[LabelledRow], figures: RunFigures, source: str | None = None
) -> Calibration:
    """Compute both lines: ``labelled`` weighs every row 1, ``population`` weighs by the draw.

    ``population`` is ``None`` unless the design is weighted or a census.
    """
    return both_lines(make_rows(labelled, figures, source))


def both_lines(made: LabelledRows) -> Calibration:
    """Compute both lines, as ``summarise`` does, from rows that are already built."""
    contents = by_content(made.labelled)
    strata = decided_strata(made.figures.sizes, made.figures.decided)
    counts = RunCounts(
        every=counters_of(made.rows),
        labelled=len(contents),
        usable=sum(
            any(one.place.usable and one.place.stratum in strata for one in verdicts)
            for verdicts in contents
        ),
        decided=sum(any(one.decided for one in verdicts) for verdicts in contents),
        no_verdict=sum(
            all(one.decision not in {Decision.PASS, Decision.FAIL} for one in verdicts)
            for verdicts in contents
        ),
        truths=Counter(verdicts[0].place.truth for verdicts in contents),
    )
    weighing = made.weighing
    return calibration_of(
        made.figures,
        made.source,
        counts,
        weighing.counted,
        lambda: counters_of(made.headline),
        weighing.gaps,
    )


def split(made: LabelledRows, given: Mapping[bytes, bool | None]) -> BlindSplit:
    """Compute the figures of rows labelled blind, and of all others.

    ``given`` says by item whether it was labelled blind; ``None`` if its labels do not record it.
    """
    ways = [given.get(verdict.item) for verdict in made.verdicts]
    return BlindSplit(
        blind=measure(made.rows.weighted([float(way is True) for way in ways]), None),
        open=measure(made.rows.weighted([float(way is not True) for way in ways]), None),
        unsaid=ways.count(None),
    )


def bin_counts(made: LabelledRows) -> dict[int, int]:
    """Count the rows in each of the ten bins of confidence, including rows of weight 0."""
    return dict(Counter(bin_index(made.rows.confidence).tolist()))


def alone(
    labelled: Sequence[LabelledRow],
    given: Mapping[bytes, bool | None],
    source: str | None = None,
    *,
    fits: bool = False,
) -> BlindFigures:
    """Compute the figures of a blind session, from the labelled verdicts alone.

    The confidence mapping, too, is chosen from these verdicts. ``fits`` asks for the fit as well.
    """
    # In file order, because the order of the draw depends on the strata of all verdicts.
    rows = sorted(labelled, key=lambda verdict: verdict.key)
    decided = [row for row in rows if row.decision in {Decision.PASS, Decision.FAIL}]
    stated = any(row.stated_score is not None for row in rows)
    scores = [row.stated_score if stated else row.score for row in decided]
    figures = RunFigures(
        passed=0,
        failed=0,
        confidence_source="vote_share" if None in scores else "support",
        scores_stated=stated,
        sizes=Counter(h for h, _ in {row.place.unit for row in rows}),
    )
    made = make_rows(rows, figures, source)
    line = measure(made.rows, None)
    fitted = fit(made.rows) if fits else None
    return BlindFigures(
        metrics=line,
        split=split(made, given),
        gates=default_checks(line, fitted.null if fitted else None),
        confidence_source=made.source,
        warnings=tuple(left_out_warnings(made.left_out) + one_class_warnings(line)),
        fit=fitted,
    )


def described(made: LabelledRows) -> str | None:
    """Return what the labels describe while some stratum has none that counts.

    ``None`` if every decided stratum has one, or if no label counts at all.
    """
    if made.weighing.design in {Design.NONE, Design.AD_HOC} or not made.weighing.empty:
        return None
    return coverage_text(made.weighing.empty, made.figures)


def audited(made: LabelledRows) -> list[bool]:
    """Return, for each audit label that counts (confidence or not), if the panel was right.

    It was right on a content if it was on each of its verdicts.
    """
    audits = made.figures.audits
    found: dict[tuple[int, int], bool] = {}
    for verdict, inside in zip(made.labelled, made.weighing.drawn, strict=True):
        h, rank = unit = verdict.place.unit
        if inside and verdict.decided and rank < audits.get(h, 0):
            found[unit] = found.get(unit, True) and verdict.correct
    return list(found.values())
