"""The split of a run's labels, and where the panel is wrong in the tuning half."""

from collections import defaultdict

from msgspec import to_builtins
from msgspec.structs import asdict

from reviewdesk.desk.core import Desk
from reviewdesk.desk.team.claims import labelled
from reviewdesk.domain.labels.improve import (
    KIND,
    Half,
    LabelledCase,
    SplitLabels,
    SplitMade,
    Step,
    group_of,
    halved,
    replay,
    rubric_name,
)
from reviewdesk.domain.records import TELLING, Run, Truth
from reviewdesk.domain.verdict import stored_body
from reviewdesk.errors import UsageError
from reviewdesk.store import events, figures, verdicts
from reviewdesk.store.connect import reading, writing


def split_labels(desk: Desk, run: Run, *, open_labels: bool = False) -> SplitLabels:
    """Return a run's pass and fail labels by half: those given blind, or all if so split."""
    if run.whole != run.verdicts:
        raise UsageError(f"{run.name} is an archive, which keeps too few verdicts to improve on")
    # Imported here because it loads numpy.
    from reviewdesk.domain.labels.label_columns import LabelColumns

    halves: defaultdict[Half | None, list[LabelledCase]] = defaultdict(list)
    left_out = 0
    with reading(desk.conn):
        rubrics = figures.rubrics(desk.conn, run.key)
        split = figures.split(desk.conn, rubric_name(rubrics))
        rows = labelled(desk, run)
        totals = figures.run_figures(desk.conn, run.key)
        weighing = LabelColumns.of_rows(rows).weigh(totals.sizes, totals.decided)
        blind = figures.blind_by_item(desk.conn)
        texts = figures.bodies(desk.conn, rows)
        for row, weight in zip(rows, weighing.weights.tolist(), strict=True):
            if row.truth not in {Truth.PASS, Truth.FAIL} or not row.seen:
                continue
            if not (blind.get(row.item) or split.open_labels or open_labels):
                left_out += 1
                continue
            told = verdicts.of_item(desk.conn, row.item)
            text = texts[row.key]
            group = group_of(stored_body(text).get("input"), row.test, row.id)
            halves[split.half(group)].append(
                LabelledCase(
                    **asdict(row),
                    text=text,
                    group=group,
                    counts=weight > 0,
                    tags=tuple(dict.fromkeys(tag for one in told for tag in one["tags"])),
                    notes=tuple(one["note"] for one in told if one["note"]),
                )
            )
    return SplitLabels(
        run=run,
        split=split,
        rubric=rubrics[0] if len(rubrics) == 1 else None,
        tuning=halves[Half.TUNING],
        holdout=halves[Half.HOLDOUT],
        later=halves[None],
        left_out=left_out,
        sizes=totals.sizes,
    )


def known_halves(desk: Desk, run: Run) -> SplitLabels | None:
    """Return a run's labels by half; ``None`` without a split, which takes no time to find."""
    if not any(figures.steps(desk.conn)):
        return None
    found = split_labels(desk, run)
    return found if found.split.seed else None


def make_split(desk: Desk, run: Run, *, open_labels: bool = False) -> SplitLabels:
    """Split the labels of a run's rubric, or add those that came since, as an event."""
    found = split_labels(desk, run, open_labels=open_labels)
    known = found.split
    open_labels = open_labels or known.open_labels
    usable = (*found.tuning, *found.holdout, *found.later)
    if len({one.group for one in usable}) < TELLING:
        which = "labels" if open_labels else "blind labels"
        problem = f"{run.name}: {len(usable)} {which} of different inputs are too few to split"
        hint = "" if open_labels else " --open adds labels not given blind."
        raise UsageError(problem, f"Give at least {TELLING}: reviewdesk open --blind.{hint}")
    # What a panel was tuned on under another rubric may be in its prompt, and tests no change.
    every = list(figures.steps(desk.conn))
    splits = [replay(rubric, every) for rubric in {step.rubric for step in every}]
    tuned = set[str]().union(*(one.tuning for one in splits))
    spent = {one.group for one in found.later} & tuned
    known.tuning |= spent
    # Groups of near-copies are balanced by stratum of the draw and label.
    groups = ((one.group, f"{one.stratum} {one.should_pass}") for one in usable)
    seed = known.seed or known.rubric[:16]
    tuning, holdout = halved(groups, known, seed)
    tuning = (*sorted(spent), *tuning)
    if not tuning and not holdout:
        raise UsageError(f"{run.name}: nothing was labelled since the split", "Label more items.")
    with writing(desk.conn):
        record(desk, run, SplitMade(known.rubric, tuning, holdout, seed, open_labels))
    return split_labels(desk, run)


def record(desk: Desk, run: Run, step: Step, **facts: object) -> None:
    """Append the event of a step, in the caller's transaction."""
    detail = {**facts, KIND: to_builtins(step)}
    entry = events.NewEvent(KIND, desk.at(), run.hash, detail=detail)
    events.append(desk.conn, desk.reviewer, [entry])
