"""Try a candidate and its parent on the holdout, and adopt it.

Both panels are asked again, one after the other about each item, because asking alone changes what
a noisy first run got wrong. A try returns one word; its figures are shown at the adoption, which
spends the holdout.
"""

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.files import write
from reviewdesk.desk.improve.candidates import asked_case, asks, parent_of, stored_ballots
from reviewdesk.desk.improve.split import bodies, record, split_labels
from reviewdesk.desk.live.journal import DeskJournal, committed_panel
from reviewdesk.desk.review.items import refuse_held
from reviewdesk.domain.jurors.tries import TriedCell, cells, figures, gain_of, try_verdict
from reviewdesk.domain.labels.split import (
    LabelledCase,
    PanelAdopted,
    SplitLabels,
    TryBegun,
    TryEnded,
    TryVerdict,
)
from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.juror import seat_body
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.turnout import ConsentPlan, LiveProgress, Turnouts
from reviewdesk.domain.panel.verdict_body import passes
from reviewdesk.domain.records import Run
from reviewdesk.domain.verdict import canonical_json
from reviewdesk.errors import UsageError
from reviewdesk.live.batch import CaseCalls, Survey, ask_all, panel_calls, seat_ballots
from reviewdesk.live.keys import PROCESS, redactor
from reviewdesk.live.replies.ballots import ballot_of, stopped
from reviewdesk.live.session import Meter, RunLimits, World
from reviewdesk.reports.panels.panel_file import read_panel
from reviewdesk.store import improve as store
from reviewdesk.store import reruns
from reviewdesk.store.connect import writing


class TryCase(Struct, frozen=True):
    """An item of the holdout that one of both panels is asked about."""

    case: Case
    panel: PanelSpec
    row: LabelledCase
    is_candidate: bool

    def begin(self) -> CaseCalls:
        return panel_calls(self.case, self.panel)


class PreparedTry(Struct, frozen=True):
    """A try that waits for consent; nothing has been sent or written.

    ``k`` tries on this holdout came before it. ``plan`` is what would be sent, ``None`` if stored
    ballots suffice, and ``before`` the word of an earlier try of the same candidate.
    """

    labels: SplitLabels
    parent: PanelSpec
    candidate: PanelSpec
    begun: TryBegun
    rows: tuple[LabelledCase, ...]
    k: int
    before: TryVerdict | None = None
    resumes: bool = False
    plan: ConsentPlan | None = None
    limits: RunLimits = RunLimits()

    @property
    def gain(self) -> float | None:
        """The smallest gain that the try could show; ``None`` if it can show none."""
        return gain_of(self.labels.sizes, self.rows, self.k)

    def cases(self, desk: Desk) -> Iterator[TryCase]:
        """Yield what is asked: each item by both panels, which take turns in going first."""
        stored = bodies(desk, self.rows)
        for place, row in enumerate(self.rows):
            for is_candidate in (place % 2 == 1, place % 2 == 0):
                panel = self.candidate if is_candidate else self.parent
                case = asked_case(stored[row.key], panel, self.labels.rubric)
                side = "candidate" if is_candidate else "parent"
                # A juror on both panels answers for each: its calls have keys of their own.
                yield TryCase(replace(case, id=f"{case.id} / {side}"), panel, row, is_candidate)

    def judged(
        self, desk: Desk, journal: DeskJournal, environment: Mapping[str, str]
    ) -> tuple[tuple[TriedCell, ...], Turnouts]:
        """Count the items on which each panel is right, by the replies that are stored.

        A panel that decides neither pass nor fail is not right, and a call without a reply is lost.
        """
        turnouts = Turnouts()
        right: dict[int, dict[bool, bool]] = {}
        stored = bodies(desk, self.rows)
        for one in self.cases(desk):
            if self.begun.asks:
                asked = one.begin()
                while calls := asked.next():
                    for call in calls:
                        exchange = journal.reply(call.key)
                        hidden = redactor([call.juror], environment)
                        ballot = ballot_of(call, exchange, hidden) if exchange else stopped(call)
                        asked.take(call, ballot)
                ballots = seat_ballots(one.case, one.panel, asked)
                turnouts.add(ballots, one.panel.rule.threshold)
            else:
                ballots = stored_ballots(one.panel, stored[one.row.key]) or []
            (made,) = passes(one.panel, [(one.case, ballots)])
            right.setdefault(one.row.key, {})[one.is_candidate] = made is one.row.should_pass
        sides = [(one.stratum, right[one.key][False], right[one.key][True]) for one in self.rows]
        return cells(self.labels.sizes, sides), turnouts


class TryAnswer(Struct, frozen=True):
    """The result of a try: its word, unless too many ballots were lost."""

    verdict: TryVerdict | None
    turnouts: Turnouts


def _opened(
    desk: Desk, run: Run, candidate: Path, parent: Path | None, *, ended: bool = False
) -> PreparedTry:
    """Return the last try of both files that was cut off, or that ``ended``, else a new one.

    Raise UsageError if there is no holdout, or both panels are the same. Raise PanelError if a
    panel file cannot be used.
    """
    labels = split_labels(desk, run)
    split = labels.split
    if not split.holdout:
        problem = "the holdout is spent by an adoption" if split.adopted else "not split yet"
        hint = "Label more items, then split them: reviewdesk improve split."
        raise UsageError(f"{run.name}: {problem}", hint)
    old = read_panel(parent or parent_of(candidate))
    new = read_panel(candidate)
    said = [committed_panel(replaced(one, name="")) for one in (old, new)]
    if said[0] == said[1]:
        raise UsageError(f"{candidate}: decides as its parent does", "Change something first.")
    plain = json.loads(json.dumps(said))  # words instead of enumerations
    exact = hashlib.sha256(canonical_json(plain)).hexdigest()
    same = [(k, *one) for k, one in enumerate(split.tries) if one[0].exact == exact]
    before = next((word for _, _, word in reversed(same) if word), None)
    for k, begun, word in reversed(same):
        if bool(word) is ended:
            held = {one.item: one for one in reversed(labels.holdout) if one.counts}
            rows = tuple(held[item] for item in begun.items if item in held)
            return PreparedTry(labels, old, new, begun, rows, k, before, resumes=True)
    rows = labels.asked
    asks_anew = asks(old, new, labels.rubric) or any(
        stored_ballots(old, body) is None for body in bodies(desk, rows).values()
    )
    begun = TryBegun(
        rubric=split.rubric,
        name=secrets.token_hex(8),
        parent=old.hash(old.rubric or labels.rubric),
        candidate=new.hash(new.rubric or labels.rubric),
        file=candidate.name,
        items=tuple(one.item for one in rows),
        asks=asks_anew,
        exact=exact,
    )
    return PreparedTry(labels, old, new, begun, rows, len(split.tries), before)


def prepare(
    desk: Desk,
    run: Run,
    candidate: Path,
    parent: Path | None = None,
    *,
    environment: Mapping[str, str] = PROCESS,
    **limits: Any,
) -> PreparedTry:
    """Prepare a try of a candidate's file; one that was cut off is continued.

    ``limits`` are fields of ``RunLimits``. Raise UsageError if there is no holdout, both panels are
    the same, or a ceiling has no prices. Raise PanelError if a panel file cannot be used.
    """
    ready = _opened(desk, run, candidate, parent)
    if not ready.rows:
        raise UsageError(
            f"{run.name}: no label of the holdout counts for the draw",
            "Label items in the order of the queue, then: improve split.",
        )
    if not ready.begun.asks:
        return ready
    with closing(DeskJournal(desk, ready.begun.name, len(ready.rows))) as journal:
        journal.plan, _ = store.began(desk.conn, ready.begun.name)
        calls = Survey(environment, journal)
        for one in ready.cases(desk):
            calls.add(one.begin())
    plan = calls.plan()
    if plan.missing_keys:
        names = ", ".join(plan.missing_keys)
        raise UsageError(f"not set: {names}", "Set it: a try asks every juror of both panels.")
    plan.check_ceiling(limits.get("max_cost"))
    return replace(ready, plan=plan, limits=RunLimits(**limits))


async def carry_out(
    desk: Desk,
    ready: PreparedTry,
    *,
    yes: bool = False,
    told: Callable[[LiveProgress], None] = lambda _: None,
    noted: Callable[[str], None] = lambda _: None,
    world: World | None = None,
) -> TryAnswer:
    """Carry out a try that a person has agreed to, and record its one word.

    Its event is in the desk before the first request, and counts from then on. Each reply is in the
    desk before it is used, so that a try that was cut off pays for no answer twice, and is the same
    try when it is continued. Without a word, the same try asks again for what was lost. Raise
    CeilingError if the next call might exceed the ceiling; the answers are kept. Raise DeskError if
    another process is at work on this try.
    """
    begun = ready.begun
    world = world or World.real()
    facts = {
        "how": "--yes" if yes else "asked",
        "jurors": [seat_body(one) for one in ready.candidate.jurors],
        "max_cost_usd": ready.limits.max_cost,
        **(ready.plan.facts if ready.plan else {}),
        **reruns.this_process(),
    }
    with closing(DeskJournal(desk, begun.name, len(ready.rows))) as journal:
        with writing(desk.conn):
            refuse_held(store.began(desk.conn, begun.name)[1], "this try")
            record(desk, ready.labels.run, begun, **facts)
        journal.plan, _ = store.began(desk.conn, begun.name)
        if plan := ready.plan:
            meter = Meter(journal, ready.limits.max_cost, journal.spent)
            await ask_all(
                ready.cases(desk), meter, ready.limits, world,
                replace(plan, cases=2 * len(ready.rows)),
                done=lambda _one, _found: None, told=told, noted=noted,
            )  # fmt: skip
            if meter.closed:
                hint = "The answers are kept; try the same again with a higher ceiling."
                raise meter.stopped("", hint)
            journal.flush()
        found, turnouts = ready.judged(desk, journal, world.environment)
        if ready.limits.max_failed.is_passed(turnouts.failed, turnouts.ballots):
            return TryAnswer(None, turnouts)
        with writing(desk.conn):
            # How many tries came before it is read under the lock.
            tries = enumerate(store.split(desk.conn, begun.rubric).tries)
            k, known = next(((k, one) for k, one in tries if one[0].name == begun.name), (0, None))
            if known is None:
                raise UsageError("the holdout was spent meanwhile", "Label more: improve split.")
            verdict = known[1] or try_verdict(found, k)
            if known[1] is None:
                record(desk, ready.labels.run, TryEnded(begun.rubric, begun.name, verdict))
        return TryAnswer(verdict, turnouts)


def adopt(
    desk: Desk,
    run: Run,
    candidate: Path,
    parent: Path | None = None,
    *,
    anyway: bool = False,
    environment: Mapping[str, str] = PROCESS,
) -> tuple[Path, Path, PanelAdopted]:
    """Replace the parent with a candidate, and spend the holdout.

    Return the panel's file, the file that keeps the parent, whose name has its hash, and what the
    try showed. Raise UsageError if it was not tried on this holdout, or not found better, unless
    ``anyway``.
    """
    place = parent or parent_of(candidate)
    panel = place.with_suffix(".yaml")
    new = read_panel(candidate)
    text = candidate.read_bytes().decode()
    labels = split_labels(desk, run)
    last = labels.split.adopted[-1:]
    if last and last[0].candidate == new.hash(new.rubric or labels.rubric):
        # The program stopped between the event and the file.
        write(None, panel, [text], force=True)
        return panel, _kept(place, last[0].parent), last[0]
    ready = _opened(desk, run, candidate, place, ended=True)
    if panel != place and panel.exists():
        raise UsageError(f"{panel}: exists, and is not the parent", "Move it to another folder.")
    if ready.before is None:
        raise UsageError(f"{candidate}: was not tried on this holdout", "Run improve try first.")
    if ready.before is not TryVerdict.BETTER and not anyway:
        raise UsageError(
            f"{candidate}: its try says {ready.before}, so it is not adopted",
            "Adopt it all the same with --anyway; that spends the holdout.",
        )
    begun = ready.begun
    with closing(DeskJournal(desk, begun.name, 0)) as journal:
        journal.plan, _ = store.began(desk.conn, begun.name)
        found, turnouts = ready.judged(desk, journal, environment)
    if turnouts.ballots and turnouts.failed == turnouts.ballots:
        raise UsageError("the replies of its try are on another desk", "Adopt it there.")
    adopted = PanelAdopted(
        rubric=begun.rubric,
        at=desk.at(),
        name=begun.name,
        parent=begun.parent,
        candidate=begun.candidate,
        file=place.name,
        seed=labels.split.seed,
        tries=len(labels.split.tries),
        verdict=ready.before,
        figures=figures(found, ready.k),
    )
    kept = _kept(place, begun.parent)
    write(None, kept, [place.read_bytes().decode()], force=True)
    with writing(desk.conn):
        record(desk, run, adopted)
    write(None, panel, [text], force=True)
    return panel, kept, adopted


def _kept(place: Path, parent: str) -> Path:
    """Return where the file of a parent is kept: its name, with its hash."""
    return place.with_name(f"{place.stem}~{parent[:8]}{place.suffix}")
