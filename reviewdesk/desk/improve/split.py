"""The split of a run's labels, and where the panel is wrong in the tuning half."""

from collections.abc import Collection, Mapping

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import labelled
from reviewdesk.domain.labels.sampling import weigh
from reviewdesk.domain.labels.split import (
    KIND,
    Half,
    LabelledCase,
    Split,
    SplitLabels,
    SplitMade,
    Step,
    detail,
    group_of,
    halved,
    rubric_name,
)
from reviewdesk.domain.records import TELLING, Event, Item, Run, Truth
from reviewdesk.domain.verdict import CanonicalVerdict, Decision, stored_body
from reviewdesk.errors import UsageError
from reviewdesk.store import events, figures, verdicts
from reviewdesk.store import improve as store
from reviewdesk.store.connect import reading, writing


def _rubrics(desk: Desk, run: Run) -> list[str | None]:
    if run.whole != run.verdicts:
        raise UsageError(f"{run.name} is an archive, which keeps too few verdicts to improve on")
    return store.rubrics(desk.conn, run.key)


def split_of(desk: Desk, run: Run) -> Split:
    """Return the current split of a run's rubric; it has no items if no split was made."""
    with reading(desk.conn, desk.path):
        return store.split(desk.conn, rubric_name(_rubrics(desk, run)))


def half_of(split: Split, item: Item) -> Half | None:
    """Return the half of an item, for its mark on screen."""
    verdict = item.verdict
    return split.half(group_of(verdict.text("input"), verdict.test, verdict.id))


def _cases(desk: Desk, run: Run) -> tuple[list[LabelledCase], Mapping[int, int]]:
    """Return the cases of a run with a pass or fail label, and the sizes of its strata."""
    rows = labelled(desk, run)
    totals = figures.run_figures(desk.conn, run.key)
    weights = weigh([row.place for row in rows], totals.sizes, totals.decided).weights
    told = [
        (row, weight)
        for row, weight in zip(rows, weights, strict=True)
        if row.place.truth in {Truth.PASS, Truth.FAIL} and row.place.seen
    ]
    said = {row.item: verdicts.of_item(desk.conn, row.item) for row, _ in told}
    blind = figures.blind_by_item(desk.conn)
    texts = store.bodies(desk.conn, [row.key for row, _ in told])
    sides = {Decision.PASS: True, Decision.FAIL: False}
    made = [
        LabelledCase(
            key=row.key,
            id=row.id,
            item=row.item.hex(),
            group=group_of(stored_body(texts[row.key]).get("input"), row.test, row.id),
            stratum=row.place.stratum,
            rank=row.place.rank,
            counts=weight > 0,
            should_pass=row.place.truth is Truth.PASS,
            decided=sides.get(row.decision) if row.decision else None,
            blind=blind.get(row.item),
            tags=tuple(dict.fromkeys(tag for one in said[row.item] for tag in one["tags"])),
            notes=tuple(one["note"] for one in said[row.item] if one["note"]),
        )
        for row, weight in told
    ]
    return made, totals.sizes


def split_labels(desk: Desk, run: Run) -> SplitLabels:
    """Return a run's labels by half; both halves are empty before the first split."""
    with reading(desk.conn, desk.path):
        rubrics = _rubrics(desk, run)
        split = store.split(desk.conn, rubric_name(rubrics))
        every, sizes = _cases(desk, run)
    usable = [one for one in every if one.blind or split.open_labels]
    halves = {half: [one for one in usable if split.half(one.group) is half] for half in Half}
    known = sum(map(len, halves.values()))
    return SplitLabels(
        run=run,
        split=split,
        rubric=rubrics[0] if len(rubrics) == 1 else None,
        tuning=tuple(halves[Half.TUNING]),
        holdout=tuple(halves[Half.HOLDOUT]),
        later=len(usable) - known,
        left_out=len(every) - len(usable),
        sizes=sizes,
    )


def known_halves(desk: Desk, run: Run) -> SplitLabels | None:
    """Return a run's labels by half; ``None`` without a split, which takes no time to find."""
    if not any(store.steps(desk.conn)):
        return None
    found = split_labels(desk, run)
    return found if found.split.seed else None


def make_split(
    desk: Desk, run: Run, *, open_labels: bool = False, seed: str | None = None
) -> SplitLabels:
    """Split the labels of a run's rubric, or add those that came since; record it as an event.

    Labels given blind are split, or all with ``open_labels``. An item stays in its half.

    Raises:
        UsageError: there are too few labels, or no new ones since the last split.
    """
    with reading(desk.conn, desk.path):
        name = rubric_name(_rubrics(desk, run))
        known = store.split(desk.conn, name)
        every, _ = _cases(desk, run)
    use_open = open_labels or known.open_labels
    usable = [one for one in every if one.blind or use_open]
    if len({one.group for one in usable}) < TELLING:
        given = "labels" if use_open else "blind labels"
        hint = "" if use_open else " Labels given in the open count with --open."
        raise UsageError(
            f"{run.name}: {len(usable)} {given} of different inputs are too few to split",
            f"Give {TELLING} at least; open --blind begins them.{hint}",
        )
    chosen = seed or known.seed or name[:16]
    # Groups of near-copies are balanced by stratum of the draw and label.
    groups = ((one.group, f"{one.stratum} {one.should_pass}") for one in usable)
    tuning, holdout = halved(groups, known, chosen)
    if not tuning and not holdout:
        raise UsageError(f"{run.name}: nothing was labelled since the split", "Label more items.")
    made = SplitMade(name, tuning, holdout, chosen, use_open)
    with writing(desk.conn, desk.path):
        record(desk, run, made)
    return split_labels(desk, run)


def record(desk: Desk, run: Run, step: Step, **facts: object) -> Event:
    """Append the event of a step, in the caller's transaction."""
    entry = events.NewEvent(KIND, desk.at(), run=run.hash, detail={**facts, **detail(step)})
    return events.append(desk.conn, desk.reviewer, [entry]).events[0]


def bodies(desk: Desk, cases: Collection[LabelledCase]) -> dict[int, CanonicalVerdict]:
    """Return the verdicts of some cases by key, as their report states them."""
    found = store.bodies(desk.conn, [one.key for one in cases])
    return {key: stored_body(text) for key, text in found.items()}
