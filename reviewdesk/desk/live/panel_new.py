"""Make a panel from the keys in the environment, a report's jurors, or a list of models."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from reviewdesk.desk.files import write
from reviewdesk.desk.live.panel import Panel
from reviewdesk.domain.jury.family import family
from reviewdesk.domain.jury.rules import least_answered
from reviewdesk.domain.panel.asking import ConsentPlan
from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.composition import Composition, composition
from reviewdesk.domain.panel.juror import Juror, low_effort
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec, rule_of
from reviewdesk.domain.panel.vendors import (
    ADDRESSED,
    OTHER_NAMES,
    ROUTED_AS,
    SUGGESTED,
    VENDORS,
    likely_vendor,
)
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import (
    Ballot,
    CanonicalBallot,
    Generator,
    Policy,
    Strategy,
    Verdict,
    verdict_from_body,
)
from reviewdesk.errors import ReviewDeskError, UsageError
from reviewdesk.live.asking import plan
from reviewdesk.live.keys import PROCESS, is_malformed, key_problem
from reviewdesk.live.records import Transport, calls_for
from reviewdesk.live.wires.endpoints import endpoint
from reviewdesk.reports import Source, read
from reviewdesk.reports.panels.panel_file import panel_from, panel_text, read_panel
from reviewdesk.reports.panels.prices import priced

PLAIN_RULE = PanelRule(Strategy.MEDIAN, quorum="1/2")
"""The rule of a panel for which only the jurors were chosen."""

PROBE = Case(
    "probe", "4", input="What is 2 + 2?", rubric="The answer is the right number and nothing else."
)

_CLAUDE_VERSION = re.compile(r"^(claude-[a-z]+-\d+)-(\d{1,2})(?=$|-)")


def from_environment(environment: Mapping[str, str] = PROCESS) -> PanelSpec:
    """Return a panel of each vendor whose key is set; a router adds the missing families."""
    jurors: dict[str, Juror] = {}
    for vendor, models in SUGGESTED.items():
        for model in models:
            one = _juror(vendor, model)
            kind = family(model, None)
            if kind and kind.name not in jurors and _problem(one, environment) is None:
                jurors[kind.name] = one
    if not jurors:
        names = ", ".join(VENDORS[vendor].key_env or "" for vendor in SUGGESTED)
        raise UsageError("no vendor's API key is set in the environment", f"Set one of {names}.")
    return PanelSpec("new panel", tuple(jurors.values()), PLAIN_RULE)


def from_models(names: Iterable[str]) -> PanelSpec:
    """Return a panel of models named as ``vendor/model``, or by a name that tells the vendor."""
    jurors = []
    for name in names:
        first, _, rest = name.partition("/")
        word = OTHER_NAMES.get(first.lower(), first.lower())
        is_named = rest and word in VENDORS
        vendor, model = (word, rest) if is_named else (likely_vendor(name), name)
        if vendor is None:
            raise UsageError(
                f"--juror {name}: the vendor is not known",
                f"Write VENDOR/MODEL; known: {', '.join(VENDORS)}.",
            )
        if vendor in ADDRESSED:
            raise UsageError(
                f"--juror {name}: the vendor {vendor} needs an address",
                "Add the juror to the panel file by hand, with a base_url:.",
            )
        jurors.append(_juror(vendor, model))
    return PanelSpec("new panel", _distinct(jurors), PLAIN_RULE)


def from_report(
    path: str, environment: Mapping[str, str] = PROCESS
) -> tuple[PanelSpec, tuple[str, ...]]:
    """Return a panel of the jurors that a report names, under the rule of its first verdict.

    What a person must know about its choice is returned as notes.
    """
    seen: dict[str, Ballot] = {}
    rule: PanelRule | None = None
    report = read(Source.from_path(path))
    defaults = Policy.from_body(report.header.get("defaults"))
    for body in report.verdicts():
        verdict = verdict_from_body(body, defaults)
        if verdict.ballots and rule is None:
            rule = rule_of(verdict, PLAIN_RULE)
        for ballot in verdict.ballots:
            seen.setdefault(ballot.id, ballot)
    jurors, notes = report_jurors(seen.values(), environment)
    if not jurors:
        raise UsageError(
            f"{path}: no juror can be asked: {'; '.join(notes) or 'it has none'}",
            "Name models with --juror.",
        )
    name = show_line(f"jurors of {Path(path).stem}", 200)
    named = []
    for one in jurors:
        plain = show_line(one.name, 80).strip()
        is_usable = plain.isprintable() and plain
        named.append(
            dataclasses.replace(one, name=plain if is_usable else show_line(one.model, 80))
        )
    jurors = _distinct(named)
    notes = tuple(show_line(note, 400) for note in notes)
    count = len(jurors)
    if rule is not None and least_answered(rule.min_answered, count) > count:
        notes += (f"min_answered: {rule.min_answered} became {count}, as many as can be asked",)
        rule = dataclasses.replace(rule, min_answered=count)
    return PanelSpec(name, jurors, rule or PLAIN_RULE), notes


def report_jurors(
    ballots: Iterable[Ballot], environment: Mapping[str, str] = PROCESS
) -> tuple[tuple[Juror, ...], tuple[str, ...]]:
    """Return those jurors of a report that known addresses serve, and notes about the others.

    OpenRouter's key serves those without one. A report never determines where a key is sent: it
    only selects among known vendors.
    """
    jurors = []
    notes = []
    for ballot in ballots:
        try:
            juror, note = _reported(ballot, environment)
        except ReviewDeskError as error:
            juror = None
            note = error.message
        if juror is not None:
            jurors.append(juror)
        if note:
            notes.append(note)
    return _distinct(jurors), tuple(notes)


def reachable_panel(verdict: Verdict, environment: Mapping[str, str] = PROCESS) -> PanelSpec:
    """Return a verdict's jurors whose key is set, else current models, under its own rule."""
    named, _ = report_jurors(verdict.ballots, environment)
    asked = tuple(one for one in named if _problem(one, environment) is None)
    name = "the report's jurors"
    if not asked:
        try:
            asked = from_environment(environment).jurors
        except UsageError as error:
            keys = dict.fromkeys(key for one in named if (key := endpoint(one).key_env))
            hint = f"Set {' or '.join(keys)}." if keys else error.hint
            raise UsageError("no juror of the report can be asked", hint) from error
        name = "current models"
    return priced(PanelSpec(name, asked, rule_of(verdict, PLAIN_RULE)))


def _reported(ballot: Ballot, environment: Mapping[str, str]) -> tuple[Juror | None, str | None]:
    if not ballot.model:
        return None, f"{ballot.id} is left out: the report does not say which model it is"
    kind = family(ballot.model, ballot.vendor)
    word = (ballot.vendor or "").strip().lower()
    names = (OTHER_NAMES.get(word, word), kind.name if kind else "")
    vendor = next((one for one in names if one in VENDORS and VENDORS[one].base_url), None)
    own = None if vendor is None else Juror(ballot.id, ballot.model, vendor, weight=ballot.weight)
    if own is not None and _problem(own, environment) is None:
        return own, None
    if kind is not None and kind.name in ROUTED_AS:
        plain = _CLAUDE_VERSION.sub(r"\1.\2", ballot.model.rpartition("/")[2])
        model = f"{ROUTED_AS[kind.name]}/{plain}"
        routed = Juror(ballot.id, model, "openrouter", weight=ballot.weight)
        if _problem(routed, environment) is None:
            return routed, f"{ballot.id} is asked through openrouter as {model}"
    note = f"{ballot.id} is left out: no known vendor serves {ballot.model}"
    return own, note if own is None else None


def _juror(vendor: str, model: str) -> Juror:
    return Juror(model.rpartition("/")[2][:80], model, vendor, extra=low_effort(vendor, model))


def _distinct(jurors: Iterable[Juror]) -> tuple[Juror, ...]:
    made: dict[str, Juror] = {}
    for one in jurors:
        name = one.name
        count = 2
        while name in made:
            name = f"{one.name} {count}"
            count = count + 1
        made[name] = dataclasses.replace(one, name=name)
    return tuple(made.values())


def _problem(juror: Juror, environment: Mapping[str, str]) -> str | None:
    return key_problem(endpoint(juror), environment)


def write_panel(panel: PanelSpec, notes: Iterable[str], path: Path, *, force: bool = False) -> None:
    if path.suffix.lower() == ".toml":
        raise UsageError(f"{path}: panel files are written as YAML", "Name a file such as p.yaml.")
    about = "Made by: reviewdesk panel new. Keys come from the environment.\n"
    text = panel_text(panel, about + "\n".join(notes))
    panel_from(Source.from_bytes(str(path), text.encode()), path.parent)
    write(None, path, [text], force=force)


def probe_plan(spec: PanelSpec, environment: Mapping[str, str] = PROCESS) -> ConsentPlan:
    return plan(calls_for(PROBE, _quick(spec)), environment)


async def probe(
    spec: PanelSpec, *, environment: Mapping[str, str] = PROCESS, transport: Transport | None = None
) -> list[CanonicalBallot]:
    found = await Panel.of(_quick(spec)).judge(PROBE, environment=environment, transport=transport)
    return list(found.verdict["jurors"])


def _quick(spec: PanelSpec) -> PanelSpec:
    jurors = (dataclasses.replace(one, timeout=min(one.timeout, 60.0)) for one in spec.jurors)
    return dataclasses.replace(spec, jurors=tuple(jurors))


def check_panel(
    path: str, environment: Mapping[str, str] = PROCESS, generator: Generator | None = None
) -> Composition:
    """Read a panel file, and find which of its jurors' keys are missing or malformed."""
    found = composition(read_panel(path), generator)
    wanted = dict.fromkeys(seat.key_variable for seat in found.seats if seat.key_variable)
    wanted |= dict.fromkeys(name for one in found.spec.jurors for name in one.headers.values())
    missing = tuple(name for name in wanted if not environment.get(name, "").strip())
    malformed = tuple(name for name in wanted if is_malformed(environment.get(name, "")))
    return replace(found, file=path, missing=missing, malformed=malformed)
