"""Try a candidate and its parent on the holdout, adopt it, and list the lineage of panels.

Both panels are asked again, one after the other about each item, because asking alone changes what
a noisy first run got wrong. A try returns one word; its figures are shown at the adoption, which
spends the holdout.
"""

import asyncio
import dataclasses
import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.files import write
from reviewdesk.desk.improve.candidates import asked_case, asks, decision, parent_of, stored_ballots
from reviewdesk.desk.improve.split import bodies, record, split_labels, split_of
from reviewdesk.desk.live.journal import DeskJournal, committed_panel
from reviewdesk.domain.jurors.tries import TriedCell, cells, figures, smallest_gain, try_verdict
from reviewdesk.domain.labels.split import (
    Adoption,
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
from reviewdesk.domain.records import Run
from reviewdesk.domain.verdict import CanonicalBallot, canonical_json
from reviewdesk.errors import CeilingError, DeskError, UsageError
from reviewdesk.live.batch import (
    BatchProgress,
    CaseCalls,
    RunLimits,
    World,
    ask_all,
    panel_calls,
    seat_ballots,
)
from reviewdesk.live.keys import PROCESS, redactor
from reviewdesk.live.limits import Meter
from reviewdesk.live.plan import Survey
from reviewdesk.live.replies.ballots import ballot_of
from reviewdesk.reports.panels.panel_file import read_panel
from reviewdesk.store import improve as store
from reviewdesk.store import reruns
from reviewdesk.store.connect import writing

TryLimits = RunLimits
"""What a person allows a try."""


class TryCase(Struct, frozen=True):
    """An item of the holdout that one of both panels is asked about."""

    case: Case
    panel: PanelSpec
    row: LabelledCase
    is_candidate: bool

    def begin(self) -> CaseCalls:
        return panel_calls(self.case, self.panel)


class PanelPair(Struct, frozen=True):
    """A parent and its candidate, with the hash of each panel, and one of all that both say."""

    parent: PanelSpec
    candidate: PanelSpec
    hashes: tuple[str, str]
    exact: str


class PreparedTry(Struct, frozen=True):
    """A try that waits for consent; nothing has been sent or written."""

    labels: SplitLabels
    pair: PanelPair
    begun: TryBegun
    rows: tuple[LabelledCase, ...]
    k: int
    """How many tries on this holdout came before it."""
    gain: float | None = None
    """The smallest gain that this holdout could show; ``None`` if it can show none."""
    plan: ConsentPlan | None = None
    """What would be sent; ``None`` if stored ballots suffice."""
    resumes: bool = True
    before: TryVerdict | None = None
    """The word of an earlier try of the same candidate on this holdout."""
    limits: RunLimits = RunLimits()

    def cases(self, desk: Desk) -> Iterator[TryCase]:
        """Yield what is asked: each item by both panels, which take turns in going first."""
        stored = bodies(desk, self.rows)
        for place, row in enumerate(self.rows):
            for is_candidate in (place % 2 == 1, place % 2 == 0):
                panel = self.pair.candidate if is_candidate else self.pair.parent
                case = asked_case(stored[row.key], panel, self.labels.rubric)
                side = "candidate" if is_candidate else "parent"
                # A juror on both panels answers for each: its calls have keys of their own.
                yield TryCase(replace(case, id=f"{case.id} / {side}"), panel, row, is_candidate)


class TryAnswer(Struct, frozen=True):
    """The result of a try: its word, unless too many ballots were lost."""

    verdict: TryVerdict | None
    turnouts: Turnouts
    spent_usd: float | None


def prepare(
    desk: Desk,
    run: Run,
    candidate: Path,
    parent: Path | None = None,
    limits: RunLimits | None = None,
    environment: Mapping[str, str] = PROCESS,
) -> PreparedTry:
    """Prepare a try of a candidate's file; one that was cut off is continued.

    Raises:
        UsageError: there is no holdout, both panels are the same, or a ceiling has no prices.
        PanelError: a panel file cannot be used.
    """
    labels = split_labels(desk, run)
    _refuse_without_holdout(labels)
    pair = _pair(labels, candidate, parent or parent_of(candidate))
    same = [one for one in labels.split.tries if one.begun.exact == pair.exact]
    cut = next((one for one in same if one.verdict is None), None)
    rows = labels.asked if cut is None else _rows(labels, cut.begun)
    if not rows:
        raise UsageError(
            f"{run.name}: no label of the holdout counts for the draw",
            "Label items in the order of the queue, then: improve split.",
        )
    asks_anew = asks(pair.parent, pair.candidate, labels.rubric) or any(
        stored_ballots(pair.parent, body) is None for body in bodies(desk, rows).values()
    )
    items = tuple(one.item for one in rows)
    begun = cut.begun if cut is not None else TryBegun(
        labels.split.rubric, secrets.token_hex(8), *pair.hashes, candidate.name, items, asks_anew,
        pair.exact,
    )  # fmt: skip
    k = len(labels.split.tries) if cut is None else cut.k
    ready = PreparedTry(
        labels, pair, begun, rows, k,
        gain=smallest_gain(cells(labels.sizes, [(one.stratum, False, False) for one in rows]), k),
        resumes=cut is not None,
        before=next((one.verdict for one in reversed(same) if one.verdict), None),
        limits=limits or RunLimits(),
    )  # fmt: skip
    if not begun.asks:
        return ready
    with closing(DeskJournal(desk, begun.name, len(rows))) as journal:
        journal.plan, _ = store.began(desk.conn, begun.name)
        calls = Survey(environment, journal)
        for one in ready.cases(desk):
            calls.add(one.begin())
    plan = calls.plan()
    if plan.missing_keys:
        names = ", ".join(plan.missing_keys)
        raise UsageError(f"no key in {names}", "Set it: a try asks every juror of both panels.")
    return with_ceiling(replace(ready, plan=plan), ready.limits.max_cost)


def with_ceiling(ready: PreparedTry, max_cost: float | None) -> PreparedTry:
    """Return a try with the most that it may cost, in US dollars.

    Raises:
        UsageError: a juror that is asked has no price.
    """
    if max_cost is not None and ready.plan is not None and ready.plan.worst_usd is None:
        hint = "Give each juror price: {input, output} in US dollars per million tokens."
        raise UsageError("a ceiling needs prices, and a juror has none", hint)
    return replace(ready, limits=replace(ready.limits, max_cost=max_cost))


def _rows(labels: SplitLabels, begun: TryBegun) -> tuple[LabelledCase, ...]:
    """Return the cases of a try that was begun, one of each content, in their order."""
    held = {one.item: one for one in reversed(labels.holdout) if one.counts}
    return tuple(held[item] for item in begun.items if item in held)


def _pair(labels: SplitLabels, candidate: Path, parent: Path) -> PanelPair:
    old = read_panel(parent)
    new = read_panel(candidate)
    said = [committed_panel(dataclasses.replace(one, name="")) for one in (old, new)]
    if said[0] == said[1]:
        raise UsageError(f"{candidate}: decides as its parent does", "Change something first.")
    hashes = old.hash(old.rubric or labels.rubric), new.hash(new.rubric or labels.rubric)
    plain = json.loads(json.dumps(said))  # words instead of enumerations
    return PanelPair(old, new, hashes, hashlib.sha256(canonical_json(plain)).hexdigest())


def _refuse_without_holdout(labels: SplitLabels) -> None:
    if labels.split.holdout:
        return
    if labels.split.adopted:
        problem = "the holdout is spent by an adoption"
        hint = "Label more items, then split them: reviewdesk improve split."
    else:
        problem = "the labels are not split yet"
        hint = "Split them: reviewdesk improve split."
    raise UsageError(f"{labels.run.name}: {problem}", hint)


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
    try when it is continued. Without a word, the same try asks again for what was lost.

    Raises:
        CeilingError: the next call might exceed the ceiling; the answers are kept.
        DeskError: another process is at work on this try.
    """
    name = ready.begun.name
    plan = ready.plan
    world = world or World.real()
    consent: dict[str, object] = {} if plan is None else {
        "hosts": [host.name for host in plan.hosts],
        "models": list(plan.models),
        "calls": plan.calls,
        "worst_case_usd": plan.worst_usd,
        "payload_sha256": plan.payload_sha256,
        "max_cost_usd": ready.limits.max_cost,
        "how": "--yes" if yes else "asked",
        "jurors": [seat_body(one) for one in ready.pair.candidate.jurors],
    }  # fmt: skip
    with closing(DeskJournal(desk, name, len(ready.rows))) as journal:
        with writing(desk.conn, desk.path):
            if store.began(desk.conn, name)[1]:
                hint = "Wait for it, or stop it."
                raise DeskError("another process is at work on this try", hint)
            record(desk, ready.labels.run, ready.begun, **consent, **reruns.this_process())
        journal.plan, _ = store.began(desk.conn, name)
        spent = reruns.spent(desk.conn, [journal.plan or 0])
        meter = Meter(journal, ready.limits.max_cost, spent)
        is_priced = plan is not None and plan.worst_usd is not None
        if plan is not None:
            calls = plan.calls

            def progress(counts: BatchProgress) -> None:
                usd = meter.spent if is_priced else None
                told(counts.of(2 * len(ready.rows), calls, usd))

            await ask_all(
                ready.cases(desk), meter, ready.limits, world,
                done=lambda _one, _found: None, told=progress, noted=noted,
            )  # fmt: skip
            if meter.closed:
                raise CeilingError(
                    f"stopped before the ceiling of ${meter.ceiling:.10g}: ${meter.spent:.4f} is "
                    "spent",
                    "The answers are kept; try the same again with a higher ceiling.",
                )
            journal.flush()
        found, turnouts = _judged(desk, ready, journal, world.environment)
        usd = meter.spent if is_priced else None
        if ready.limits.max_failed.is_passed(turnouts.failed, turnouts.ballots):
            return TryAnswer(None, turnouts, usd)
        with writing(desk.conn, desk.path):
            # How many tries came before it is read under the lock.
            split = store.split(desk.conn, ready.begun.rubric)
            mine = next((one for one in split.tries if one.begun.name == name), None)
            if mine is None:
                hint = "Label more items: improve split."
                raise UsageError("the holdout was spent meanwhile", hint)
            verdict = mine.verdict
            if verdict is None:
                verdict = try_verdict(found, mine.k)
                record(desk, ready.labels.run, TryEnded(ready.begun.rubric, name, verdict))
        return TryAnswer(verdict, turnouts, usd)


def run_now(
    desk: Desk,
    ready: PreparedTry,
    *,
    yes: bool = False,
    told: Callable[[LiveProgress], None] = lambda _: None,
    noted: Callable[[str], None] = lambda _: None,
) -> TryAnswer:
    """Carry out a try over the network."""
    return asyncio.run(carry_out(desk, ready, yes=yes, told=told, noted=noted))


def _judged(
    desk: Desk, ready: PreparedTry, journal: DeskJournal, environment: Mapping[str, str]
) -> tuple[tuple[TriedCell, ...], Turnouts]:
    """Count the items on which each panel is right, by the replies that are stored.

    A panel that decides neither pass nor fail is not right.
    """
    turnouts = Turnouts()
    right: dict[int, dict[bool, bool]] = {}
    stored = bodies(desk, ready.rows)
    for one in ready.cases(desk):
        if ready.begun.asks:
            asked = one.begin()
            while calls := asked.next():
                for call in calls:
                    exchange = journal.reply(call.key)
                    # A call without a reply counts as lost.
                    ballot: CanonicalBallot = {
                        **seat_body(call.juror),
                        "status": "error",
                        "error": {"type": "stopped", "message": "stopped before the answer came"},
                    }
                    if exchange is not None:
                        ballot = ballot_of(call, exchange, redactor([call.juror], environment))
                    asked.take(call, ballot)
            ballots = seat_ballots(one.case, one.panel, asked)
            turnouts.add(ballots, one.panel.rule.threshold)
        else:
            ballots = stored_ballots(one.panel, stored[one.row.key]) or []
        made = decision(one.case, one.panel, ballots)
        right.setdefault(one.row.key, {})[one.is_candidate] = made is one.row.should_pass
    sides = [(one.stratum, right[one.key][False], right[one.key][True]) for one in ready.rows]
    return cells(ready.labels.sizes, sides), turnouts


# Adoption


def adopt(
    desk: Desk,
    run: Run,
    candidate: Path,
    parent: Path | None = None,
    *,
    anyway: bool = False,
    environment: Mapping[str, str] = PROCESS,
) -> Adoption:
    """Replace the parent with a candidate, return what its try showed, and spend the holdout.

    The parent's file is kept beside it, under a name with its hash.

    Raises:
        UsageError: it was not tried on this holdout, or not found better, unless ``anyway``.
    """
    place = parent or parent_of(candidate)
    panel = place.with_suffix(".yaml")
    labels = split_labels(desk, run)
    new = read_panel(candidate)
    text = candidate.read_bytes().decode()
    last = labels.split.adopted[-1] if labels.split.adopted else None
    if last is not None and last.candidate == new.hash(new.rubric or labels.rubric):
        # The program stopped between the event and the file.
        write(None, panel, [text], force=True)
        return Adoption(panel, _kept(place, last), last)
    _refuse_without_holdout(labels)
    pair = _pair(labels, candidate, place)
    same = [one for one in labels.split.tries if one.begun.exact == pair.exact]
    tried = next((one for one in reversed(same) if one.verdict is not None), None)
    if tried is None or tried.verdict is None:
        raise UsageError(f"{candidate}: was not tried on this holdout", "improve try it first.")
    if tried.verdict is not TryVerdict.BETTER and not anyway:
        raise UsageError(
            f"{candidate}: its try says {tried.verdict}, so it is not adopted",
            "Adopt it all the same with --anyway; that spends the holdout.",
        )
    ready = PreparedTry(labels, pair, tried.begun, _rows(labels, tried.begun), tried.k)
    with closing(DeskJournal(desk, tried.begun.name, 0)) as journal:
        journal.plan, _ = store.began(desk.conn, tried.begun.name)
        found, turnouts = _judged(desk, ready, journal, environment)
    if turnouts.ballots and turnouts.failed == turnouts.ballots:
        raise UsageError("the replies of its try are on another desk", "Adopt it there.")
    adopted = PanelAdopted(
        rubric=labels.split.rubric,
        at=desk.at(),
        name=tried.begun.name,
        parent=tried.begun.parent,
        candidate=tried.begun.candidate,
        file=place.name,
        seed=labels.split.seed,
        tries=len(labels.split.tries),
        verdict=tried.verdict,
        figures=figures(found, tried.k),
    )
    kept = _kept(place, adopted)
    write(None, kept, [place.read_bytes().decode()], force=True)
    with writing(desk.conn, desk.path):
        record(desk, run, adopted)
    write(None, panel, [text], force=True)
    return Adoption(panel, kept, adopted)


def _kept(place: Path, adopted: PanelAdopted) -> Path:
    """Return where the file of the parent is kept."""
    return place.with_name(f"{place.stem}~{adopted.parent[:8]}{place.suffix}")


def lineage(desk: Desk, run: Run) -> tuple[PanelAdopted, ...]:
    """Return the panels that were adopted for a run's rubric, the oldest first."""
    return split_of(desk, run).adopted
