"""Candidates for a panel's place: each is written beside it, tried on the holdout, and adopted.

A candidate is a file named ``PARENT+CHANGE.yaml``; nothing in it comes from the holdout. A try asks
both panels again, one after the other about each item, because asking alone changes what a noisy
first run got wrong. It returns one word; its figures are shown at the adoption, which spends the
holdout.
"""

import difflib
import glob
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.files import write
from reviewdesk.desk.labels.split import record, split_labels
from reviewdesk.desk.live.journal import DeskJournal, agreed_facts, fingerprint
from reviewdesk.desk.live.judge import PendingCase, committed_panel
from reviewdesk.domain.labels.improve import (
    LabelledCase,
    PanelAdopted,
    SplitLabels,
    TriedCell,
    TryBegun,
    TryEnded,
    TryVerdict,
    WrittenCandidate,
    cells,
    smallest_gain,
    try_figures,
    try_verdict,
)
from reviewdesk.domain.panel.asking import ConsentPlan, Listener, Turnouts
from reviewdesk.domain.panel.case import Case, case_of
from reviewdesk.domain.panel.juror import seat_body
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.vendors import VENDORS
from reviewdesk.domain.panel.verdict_body import passes
from reviewdesk.domain.records import Run
from reviewdesk.domain.safetext import show, show_line
from reviewdesk.domain.verdict import CanonicalBallot, CanonicalVerdict
from reviewdesk.errors import UsageError
from reviewdesk.live.asking import Asking, Survey, replied
from reviewdesk.live.keys import PROCESS
from reviewdesk.live.limits import Meter, RunLimits, World
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.panels.panel_file import panel_from, plain_text, read_panel, read_plain
from reviewdesk.store import figures
from reviewdesk.store.connect import writing

CHANGES = """strategy=NAME, threshold=0.6, quorum=2/3, without=JUROR, weights, examples, \
model=JUROR:VENDOR/MODEL"""
STRATEGIES = ("quorum", "majority", "unanimous", "mean", "median", "trimmed_mean")
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)
QUORUMS = ("1/2", "2/3", "3/4", "1")
_SHORT = 300
_SUFFIXES = (".yaml", ".yml", ".toml")
NOTHING_SAVED = "the editor ($VISUAL or $EDITOR) saved nothing, so there is no candidate"
_MARK = "# The wrong items of the tuning half follow. All from here on is left out of the file."
_OF_MODEL = ("base_url", "api_key_env", "api_key", "price", "extra", "deployment", "api_version")
_Given = tuple[Case, Sequence[CanonicalBallot]]


def asked_case(body: CanonicalVerdict, panel: PanelSpec, rubric: str | None) -> Case:
    """Return a verdict's case as it is asked; a rubric of the panel replaces the shared one."""
    case = case_of(body)
    return (replace(case, rubric=None) if rubric and panel.rubric else case).under(panel.rubric)


def stored_ballots(panel: PanelSpec, body: CanonicalVerdict) -> list[CanonicalBallot] | None:
    """Return the ballots of the panel's jurors, or ``None`` if one is missing or differs."""
    held = {one["id"]: one for one in body["jurors"]}
    made = []
    for juror in panel.jurors:
        ballot = held.get(juror.name)
        own = {"model": juror.model, "prompt_sha256": juror.prompt_sha256}
        if ballot is None or any(ballot.get(key, own[key]) != own[key] for key in own):
            return None
        weight = {} if juror.weight is None else {"weight": juror.weight}
        made.append({**{key: ballot[key] for key in ballot if key != "weight"}, **weight})
    return made


def _right(panel: PanelSpec, cases: Sequence[LabelledCase], given: Sequence[_Given]) -> list[bool]:
    """Return for each case if the panel decides on it, by the ballots given, as people do."""
    found = zip(passes(panel, given), cases, strict=True)
    return [passed is one.should_pass for passed, one in found]


def asks(
    parent: PanelSpec, candidate: PanelSpec, rubric: str | None, cases: Sequence[LabelledCase] = ()
) -> bool:
    """Return True unless the ballots of ``cases`` suffice, with the parent's rubrics and seats."""
    seats, asked = (
        [replaced(one, weight=None, order=None) for one in panel.jurors]
        for panel in (parent, candidate)
    )
    rubrics = {rubric or parent.rubric, parent.rubric or rubric, candidate.rubric or rubric}
    rules = {(one.rule.swap, tuple(one.rule.labels)) for one in (parent, candidate)}
    differ = max(len(rules), len(rubrics)) > 1 or any(one not in seats for one in asked)
    return differ or any(stored_ballots(parent, one.body) is None for one in cases)


def parent_of(candidate: Path) -> Path:
    for suffix in _SUFFIXES:
        found = candidate.with_name(candidate.stem.partition("+")[0] + suffix)
        if "+" in candidate.stem and found.is_file():
            return found
    hint = "Call a candidate PANEL+CHANGE.yaml, where PANEL.yaml is its parent."
    raise UsageError(f"{candidate}: there is no parent beside it", hint)


def beside(parent: Path) -> list[Path]:
    """Return the candidates of a panel file, by name; not one that was adopted and is the panel."""
    found = parent.parent.glob(f"{glob.escape(parent.stem)}+*")
    text = parent.read_bytes()
    return sorted(one for one in found if one.suffix in _SUFFIXES and one.read_bytes() != text)


def written(labels: SplitLabels, parent: Path, text: str, name: str = "edit") -> WrittenCandidate:
    """Write a panel without ``draft``'s comments beside its parent, under the next free name."""
    text = text.partition(_MARK)[0].strip() + "\n"
    slug = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:60] or "change"
    path = parent.with_name(f"{parent.stem}+{slug}.yaml")
    number = 1
    while path.exists() and path.read_bytes() != text.encode():
        number += 1
        path = parent.with_name(f"{parent.stem}+{slug}-{number}.yaml")
    spec = panel_from(Source.from_bytes(str(path), text.encode()), parent.parent)
    before = read_panel(parent)
    new, old = (replaced(one, rubric=one.rubric or labels.rubric) for one in (spec, before))
    if new == old:
        raise UsageError(f"{name}: nothing differs from {parent}", "Change something.")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    first = plain_text(read_plain(parent)).splitlines()
    diff = tuple(difflib.unified_diff(first, lines, lineterm="", n=2))[2:]
    if not path.exists():
        write(None, path, [text])
    return WrittenCandidate(path, parent, diff, asks(before, spec, labels.rubric))


def draft(labels: SplitLabels, parent: Path) -> str:
    """Return a panel to edit, with the wrong items of the tuning half as comments at its end."""
    plain = read_plain(parent)
    lines = ["# Edit the rubric, a prompt, a model or the rule, then save."]
    if rubric := plain.get("rubric") or labels.rubric:
        plain["rubric"] = rubric
    else:
        lines.append("# The cases have rubrics of their own; edit the jurors' prompts.")
    lines += [plain_text(plain).rstrip(), "", _MARK]
    for one in labels.wrong[:20]:
        said, due = ("pass", "fail") if one.passed else ("fail", "pass")
        more = "".join(f" · {text}" for text in (*one.tags, *one.notes))
        told = show_line(f"{one.id}: the panel says {said}, people say {due}{more}", 400)
        lines += ["#", f"# {told}"]
        for name in ("input", "output"):
            text = show(str(one.body.get(name) or ""), 2 * _SHORT)
            lines += [f"#   {name}:", *(f"#     {line}".rstrip() for line in text.splitlines())]
    return "\n".join(lines) + "\n"


# Changes that the program makes


def made(labels: SplitLabels, parent: Path, change: str) -> WrittenCandidate:
    return written(labels, parent, _changed(labels, parent, change), change)


def _changed(labels: SplitLabels, parent: Path, change: str) -> str:
    plain = read_plain(parent)
    jurors = {str(one.get("name") or one["model"]): dict(one) for one in plain["jurors"]}
    key, _, value = (part.strip() for part in change.partition("="))
    name, _, model = value.partition(":") if key == "model" else (value, "", "")
    if change in {"examples", "weights"} and not labels.tuning:
        problem = f"{change} comes from the tuning half, which is empty"
        raise UsageError(problem, "Run improve split.")
    if change == "examples":
        plain["rubric"] = _with_examples(labels, plain.get("rubric"))
    elif change == "weights":
        for name, weight in _weights(labels, list(jurors)).items():
            jurors[name]["weight"] = weight
    elif key in {"strategy", "threshold", "quorum"} and value:
        plain[key] = float(value) if re.fullmatch(r"[0-9]*\.?[0-9]+", value) else value
    elif key not in {"without", "model"} or not name or bool(model) is not (key == "model"):
        raise UsageError(f"no change {change!r} can be made to a panel", f"There are: {CHANGES}.")
    elif name not in jurors:
        raise UsageError(f"the panel has no juror {name!r}", f"It has {', '.join(jurors)}.")
    elif key == "without":
        del jurors[name]
    elif model.partition("/")[0] in VENDORS:
        from reviewdesk.desk.live.panel_new import from_models

        (juror,) = from_models([model]).jurors
        own = {"name": juror.name, "model": juror.model, "vendor": juror.vendor}
        kept = {key: one for key, one in jurors[name].items() if key not in _OF_MODEL}
        jurors[name] = kept | own | ({"extra": dict(juror.extra)} if juror.extra else {})
    else:
        jurors[name] |= {"name": model, "model": model}  # at the seat's own address
    return plain_text({**plain, "jurors": list(jurors.values())})


def _weights(labels: SplitLabels, names: Sequence[str]) -> dict[str, float]:
    from reviewdesk.domain.jurors.facts import suggested_weights
    from reviewdesk.domain.stats.kappa import cohen_kappa

    casts = [{vote["id"]: vote for vote in one.body["jurors"]} for one in labels.tuning]
    truths = [one.should_pass for one in labels.tuning]
    every = [[cast[name].get("pass") if name in cast else None for cast in casts] for name in names]
    kappas = [(cohen_kappa(truths, one), float(len(one) - one.count(None))) for one in every]
    weights, _ = suggested_weights(kappas)
    found = {name: round(weight or 0.0, 3) for name, weight in zip(names, weights, strict=True)}
    if low := [name for name, weight in found.items() if not weight]:
        problem = f"no weight for {', '.join(low)}: no better than chance in the tuning half"
        raise UsageError(problem, f"Try it without: without={low[0]}.")
    return found


def _with_examples(labels: SplitLabels, rubric: object) -> str:
    """Add short examples of the tuning half to a rubric: wrong ones first, as many of each kind."""
    from reviewdesk.domain.jury.injection import passages

    rubric = rubric or labels.rubric
    if not rubric:
        problem = "the cases have rubrics of their own, so a panel has no place for examples"
        raise UsageError(problem, "Edit the jurors' prompts instead: improve edit.")
    chosen: dict[bool, list[str]] = {True: [], False: []}
    groups = set[str]()
    for one in sorted(labels.tuning, key=lambda one: (one.passed is one.should_pass, one.group)):
        asked, told = (str(one.body.get(name) or "") for name in ("input", "output"))
        # Texts that address their juror are left out, as it would obey them in this place.
        is_plain = not any(passages(text) or len(text) > _SHORT for text in (asked, told))
        mine = chosen[one.should_pass]
        if is_plain and told and one.group not in groups and len(mine) < 2:
            lead = f"Input: {asked}\n" if asked else ""
            mine.append(f"{lead}Response: {told}\nVerdict: {'pass' if one.should_pass else 'fail'}")
            groups.add(one.group)
    each = min(map(len, chosen.values()))
    if not each:
        problem = f"the tuning half has no short example of each label ({_SHORT} characters)"
        raise UsageError(problem, "Label more items, or edit the rubric: improve edit.")
    lines = [str(rubric).rstrip(), "Examples that people judged:"]
    return "\n\n".join(lines + chosen[True][:each] + chosen[False][:each]) + "\n"


def offers(labels: SplitLabels, parent: Path) -> dict[str, int | None]:
    """Return changes of a panel, with how many tuning items each is right on, the best first.

    The empty change is the panel itself; those that need calls have ``None`` and come last. Others
    are kept if they are right more often, or as often with fewer jurors.
    """
    spec = read_panel(parent)
    if not labels.tuning:
        return {}
    asked: dict[str, int | None] = {"examples": None} if labels.rubric or spec.rubric else {}
    if asks(spec, spec, labels.rubric, labels.judged):
        return asked
    bodies = [one.body for one in labels.judged]

    def right(panel: PanelSpec) -> int:
        given = [
            (asked_case(body, panel, labels.rubric), stored_ballots(panel, body) or ())
            for body in bodies
        ]
        return sum(_right(panel, labels.judged, given))

    own = right(spec)
    changes = [*(f"strategy={word}" for word in STRATEGIES), "weights"]
    changes += [f"threshold={at:g}" for at in THRESHOLDS if not spec.rule.labels]
    changes += [f"quorum={at}" for at in QUORUMS if spec.rule.strategy == "quorum"]
    if len(spec.jurors) > 1:
        changes += [f"without={one.name}" for one in spec.jurors]
    better: dict[str, int | None] = {}
    for change in changes:
        with suppress(UsageError):
            text = _changed(labels, parent, change).encode()
            count = right(panel_from(Source.from_bytes(parent.name, text), parent.parent))
            if count + change.startswith("without=") > own:
                better[change] = count
    best = sorted(better.items(), key=lambda pair: -(pair[1] or 0))[:8]
    return {"": own, **dict(best), **asked}


# Tries


class PreparedTry(Struct, frozen=True):
    """A try of two panels, parent and candidate, after ``k`` others on this holdout.

    ``word`` is its result if it ended. Without a ``plan``, for which it waits for consent, stored
    ballots suffice.
    """

    labels: SplitLabels
    panels: tuple[PanelSpec, PanelSpec]
    begun: TryBegun
    rows: tuple[LabelledCase, ...]
    k: int
    word: TryVerdict | None = None
    plan: ConsentPlan | None = None
    limits: RunLimits = RunLimits()

    @property
    def gain(self) -> float | None:
        return smallest_gain(self.labels.sizes, [one.stratum for one in self.rows], self.k)

    def journal(self, desk: Desk) -> DeskJournal:
        return DeskJournal(desk, self.begun.name, len(self.rows))

    def cases(self) -> Iterator[PendingCase]:
        """Yield what is asked: each item by both panels, which take turns in going first."""
        for place, row in enumerate(self.rows):
            sides = [*zip(("parent", "candidate"), self.panels, strict=True)]
            for side, panel in reversed(sides) if place % 2 else sides:
                case = asked_case(row.body, panel, self.labels.rubric)
                # A juror on both panels answers for each: its calls have keys of their own.
                yield PendingCase(place, replace(case, id=f"{case.id} / {side}"), panel)

    def judged(
        self, journal: DeskJournal, environment: Mapping[str, str]
    ) -> tuple[list[TriedCell], Turnouts]:
        """Count the items on which each panel is right by stored replies; a missing one is lost."""
        turnouts = Turnouts()
        given: tuple[list[_Given], list[_Given]] = ([], [])
        for one in self.cases():
            if self.begun.asks:
                ballots = replied(one.case, one.panel, journal, environment)
                turnouts.add(ballots, one.panel.rule.threshold)
            else:
                ballots = stored_ballots(one.panel, self.rows[one.place].body) or []
            given[self.panels.index(one.panel)].append((one.case, ballots))
        right = (_right(panel, self.rows, given[n]) for n, panel in enumerate(self.panels))
        strata = [row.stratum for row in self.rows]
        return cells(self.labels.sizes, zip(strata, *right, strict=True)), turnouts


def _opened(desk: Desk, run: Run, candidate: Path, *, adopts: bool = False) -> PreparedTry:
    """Return the last try of both panels, or a new one if more items can be asked since it ended.

    To adopt, any try that ended is enough.
    """
    labels = split_labels(desk, run)
    split = labels.split
    if not split.holdout:
        problem = "the holdout is spent by an adoption" if split.adopted else "not split yet"
        hint = "Label more items, then split them: reviewdesk improve split."
        raise UsageError(f"{run.name}: {problem}", hint)
    old = read_panel(parent_of(candidate))
    new = read_panel(candidate)
    said = [committed_panel(replaced(one, name="")) for one in (old, new)]
    if said[0] == said[1]:
        raise UsageError(f"{candidate}: decides as its parent does", "Change something first.")
    exact = fingerprint(said)
    rows = labels.asked
    items = tuple(one.item.hex() for one in rows)
    same = [
        (k, begun, word)
        for k, (begun, word) in enumerate(split.tries.values())
        if begun.exact == exact and (word is None or adopts or begun.items == items)
    ]
    if same:
        k, begun, word = same[-1]
        counted = {one.item.hex(): one for one in reversed(labels.holdout) if one.counts}
        rows = tuple(counted[item] for item in begun.items if item in counted)
        return PreparedTry(labels, (old, new), begun, rows, k, word)
    begun = TryBegun(
        rubric=split.rubric,
        name=secrets.token_hex(8),
        parent=old.hash(old.rubric or labels.rubric),
        candidate=new.hash(new.rubric or labels.rubric),
        file=candidate.name,
        items=items,
        asks=asks(old, new, labels.rubric, rows),
        exact=exact,
    )
    return PreparedTry(labels, (old, new), begun, rows, len(split.tries))


def prepare(desk: Desk, run: Run, candidate: Path, **limits: Any) -> PreparedTry:
    """Prepare a try of a candidate's file, or continue one; ``limits`` are those of RunLimits."""
    ready = replace(_opened(desk, run, candidate), limits=RunLimits(**limits))
    if not ready.rows:
        problem = f"{run.name}: no label of the holdout counts for the draw"
        raise UsageError(problem, "Label items in the order of the queue, then: improve split.")
    if ready.word:
        problem = f"{candidate}: was tried on these items before: {ready.word}"
        raise UsageError(problem, "Adopt it if it is better; else label more, or try another.")
    if not ready.begun.asks:
        return ready
    calls = Survey(PROCESS, ready.journal(desk))
    for one in ready.cases():
        calls.add(one.begin())
    plan = calls.plan()
    if plan.missing_keys:
        names = ", ".join(plan.missing_keys)
        raise UsageError(f"not set: {names}", "Set it: a try asks every juror of both panels.")
    plan.check_ceiling(ready.limits.max_cost)
    return replace(ready, plan=plan)


async def carry_out(
    desk: Desk, ready: PreparedTry, listener: Listener, world: World | None = None
) -> tuple[TryVerdict | None, Turnouts]:
    """Carry out a try that a person has agreed to, and record its one word.

    Return the word, ``None`` if too many ballots were lost, and the turnout. The event of the try
    is in the desk before the first request, and each reply before it is used, so that the same try
    continues one that was cut off.
    """
    begun = ready.begun
    limits = ready.limits
    run = ready.labels.run
    world = world or World.real()
    journal = ready.journal(desk)
    with journal.at_work("this try"), ExitStack() as without_word:
        with writing(desk.conn):
            jurors = [seat_body(one) for one in ready.panels[1].jurors]
            record(desk, run, begun, jurors=jurors, **agreed_facts(limits, ready.plan))
        # Another process may then continue it while this one lives on.
        without_word.callback(journal.append, "rerun_ended", {})
        journal.read()
        if ready.plan is not None:
            meter = Meter(journal, limits.max_cost, journal.spent)
            plan = replace(ready.plan, cases=2 * len(ready.rows))
            asking = Asking[PendingCase](meter, limits, world, listener, plan)
            cases = ((one, one.begin()) for one in ready.cases())
            await asking.run(cases, lambda _one, _found: None)
            if meter.closed:
                hint = "The answers are kept; try the same again with a higher ceiling."
                raise meter.stopped("", hint)
            journal.flush()
        found, turnouts = ready.judged(journal, world.environment)
        if limits.max_failed.is_passed(turnouts.failed, turnouts.ballots):
            return None, turnouts
        with writing(desk.conn):
            # How many tries came before it is read under the lock.
            tries = figures.split(desk.conn, begun.rubric).tries
            if begun.name not in tries:
                raise UsageError("the holdout was spent meanwhile", "Label more: improve split.")
            verdict = tries[begun.name][1]
            if verdict is None:
                verdict = try_verdict(found, list(tries).index(begun.name))
                record(desk, run, TryEnded(begun.rubric, begun.name, verdict))
        without_word.pop_all()
        return verdict, turnouts


def adopt(
    desk: Desk, run: Run, candidate: Path, *, anyway: bool = False
) -> tuple[Path, Path, PanelAdopted]:
    """Replace the parent with a candidate, and spend the holdout.

    Return the panel's file, the file that keeps the parent, and what the try showed. Raise
    UsageError unless the try says better, or ``anyway``.
    """
    place = parent_of(candidate)
    panel = place.with_suffix(".yaml")
    new = read_panel(candidate)
    text = candidate.read_bytes().decode()
    labels = split_labels(desk, run)

    def kept(old: str) -> Path:
        return place.with_name(f"{place.stem}~{old[:8]}{place.suffix}")

    for last in labels.split.adopted[-1:]:
        if last.candidate == new.hash(new.rubric or labels.rubric):
            # The program stopped between the event and the file.
            write(None, panel, [text], force=True)
            return panel, kept(last.parent), last
    ready = _opened(desk, run, candidate, adopts=True)
    if ready.word is None:
        raise UsageError(f"{candidate}: was not tried on this holdout", "Run improve try first.")
    if ready.word is not TryVerdict.BETTER and not anyway:
        problem = f"{candidate}: its try says {ready.word}, so it is not adopted"
        hint = "Adopt it all the same with --anyway; that spends the holdout."
        raise UsageError(problem, hint)
    begun = ready.begun
    found, turnouts = ready.judged(ready.journal(desk), PROCESS)
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
        verdict=ready.word,
        figures=try_figures(found, ready.k),
    )
    write(None, kept(begun.parent), [place.read_bytes().decode()], force=True)
    with writing(desk.conn):
        record(desk, run, adopted)
    write(None, panel, [text], force=True)
    return panel, kept(begun.parent), adopted
