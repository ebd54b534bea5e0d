"""Candidate panels: each is a file beside its parent, named ``PARENT+CHANGE.yaml``.

Nothing here reads an item of the holdout.
"""

import dataclasses
import difflib
import glob
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.files import write
from reviewdesk.desk.improve.split import bodies, split_labels
from reviewdesk.domain.labels.split import (
    ImprovePage,
    LabelledCase,
    OfferedChange,
    SplitLabels,
    WrittenCandidate,
)
from reviewdesk.domain.panel.case import Case, case_of
from reviewdesk.domain.panel.juror import Vendor
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.records import Run
from reviewdesk.domain.safetext import show, show_line
from reviewdesk.domain.verdict import CanonicalBallot, CanonicalVerdict
from reviewdesk.errors import UsageError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.panels.panel_file import panel_from, plain_text, read_panel, read_plain

STRATEGIES = ("quorum", "majority", "unanimous", "mean", "median", "trimmed_mean")
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)
QUORUMS = ("1/2", "2/3", "3/4", "1")
EXAMPLES = "examples"
WEIGHTS = "weights"
CHANGES = (
    "strategy=NAME, threshold=0.6, quorum=2/3, without=JUROR, weights, examples, "
    "model=JUROR:VENDOR/MODEL"
)
MOST_SHOWN = 20
"""The wrong items that a draft shows as comments."""
_MOST_JUDGED = 500
"""The items of the tuning half on which changes of the rule are tried."""
_MOST_OFFERED = 8
_SHORT = 300
"""The most characters of a text of an example."""
_EACH = 2
"""The examples of each label."""
_MARK = "# The wrong items of the tuning half follow. All from here on is left out of the file."


# What a panel decides by stored ballots


def asked_case(body: CanonicalVerdict, panel: PanelSpec, rubric: str | None) -> Case:
    """Return the case of a verdict as a panel is asked about it.

    If all cases of the run share one ``rubric``, the panel's rubric replaces it. Cases with
    different rubrics keep them.
    """
    case = case_of(body)
    if panel.rubric is not None and rubric is not None:
        return replace(case, rubric=panel.rubric)
    return case.under(panel.rubric)


def decision(case: Case, panel: PanelSpec, ballots: Sequence[CanonicalBallot]) -> bool | None:
    """Return True for a pass, False for a fail, and ``None`` if the panel decides neither."""
    from reviewdesk.domain.panel.verdict_body import verdict_body

    made = verdict_body(case, panel, ballots).get("decision")
    return {"pass": True, "fail": False}.get(made or "")


def stored_ballots(panel: PanelSpec, body: CanonicalVerdict) -> list[CanonicalBallot] | None:
    """Return the panel's ballots of a verdict, weighted as the panel does.

    ``None`` if one of its jurors is not on the panel of the verdict, or has another model or
    prompt there.
    """
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


def asks(parent: PanelSpec, candidate: PanelSpec, rubric: str | None) -> bool:
    """Return True if jurors must be asked to know what a candidate of a panel decides.

    Ballots of the run suffice if they were given under the panel's rubric, and only the rule, the
    weights or the number of jurors differ.
    """
    seats = [dataclasses.replace(one, weight=None, order=None) for one in parent.jurors]
    asked = [dataclasses.replace(one, weight=None, order=None) for one in candidate.jurors]
    rubrics = {one.rubric or rubric for one in (parent, candidate)}
    rules = parent.rule, candidate.rule
    return (
        any(one not in seats for one in asked)
        or len(rubrics | {rubric or parent.rubric}) > 1
        or rules[0].swap != rules[1].swap
        or rules[0].labels != rules[1].labels
    )


# Files


def parent_of(candidate: Path) -> Path:
    """Return the panel file that a candidate is named after.

    Raises:
        UsageError: no such file is beside it.
    """
    stem = candidate.stem.partition("+")[0]
    for suffix in (candidate.suffix, ".yaml", ".yml", ".toml"):
        found = candidate.with_name(stem + suffix)
        if "+" in candidate.stem and found.is_file():
            return found
    raise UsageError(
        f"{candidate}: there is no parent PANEL.yaml beside it, as for PANEL+CHANGE.yaml",
        "Name the parent with --panel.",
    )


def beside(parent: Path) -> tuple[Path, ...]:
    """Return the candidates of a panel file, by name."""
    found = parent.parent.glob(f"{glob.escape(parent.stem)}+*")
    return tuple(sorted(one for one in found if one.suffix in {".yaml", ".yml", ".toml"}))


def written(parent: Path, name: str, text: str, rubric: str | None) -> WrittenCandidate:
    """Check and write a candidate beside its parent, under a name that is free.

    Raises:
        PanelError: the text is no panel.
        UsageError: it is its parent, or cannot be written.
    """
    slug = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:60] or "change"
    path = parent.with_name(f"{parent.stem}+{slug}.yaml")
    number = 2
    while path.exists() and path.read_bytes() != text.encode():
        path = parent.with_name(f"{parent.stem}+{slug}-{number}.yaml")
        number = number + 1
    spec = panel_from(Source.from_bytes(str(path), text.encode()), parent.parent)
    before = read_panel(parent)
    lines = diff(parent, text)
    if not lines:
        raise UsageError(f"{name}: nothing differs from {parent}", "Change something.")
    if not path.exists():
        write(None, path, [text])
    return WrittenCandidate(path, parent, lines, asks(before, spec, rubric))


def diff(parent: Path, text: str) -> tuple[str, ...]:
    """Return the lines in which a candidate's text differs from its parent's, both as YAML."""
    before = plain_text(read_plain(parent)).splitlines()
    spoken = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    lines = difflib.unified_diff(before, spoken.splitlines(), lineterm="", n=2)
    return tuple(islice(lines, 2, None))


# Changes that the program makes


def made(desk: Desk, labels: SplitLabels, parent: Path, change: str) -> WrittenCandidate:
    """Write the candidate that a change such as ``threshold=0.6`` makes of a panel."""
    plain = changed(desk, labels, read_plain(parent), change)
    return written(parent, change, plain_text(plain), labels.rubric)


def changed(desk: Desk, labels: SplitLabels, plain: dict[str, Any], change: str) -> dict[str, Any]:
    """Return what a panel file states after a change."""
    key, _, value = (part.strip() for part in change.partition("="))
    jurors = [dict(one) for one in plain["jurors"]]
    if key in {EXAMPLES, WEIGHTS} and not labels.tuning:
        raise UsageError(f"{change} comes from the tuning half, which is empty", "improve split")
    if key == EXAMPLES and not value:
        rubric = plain.get("rubric") or labels.rubric
        if not rubric:
            raise UsageError(
                "the cases have rubrics of their own, so a panel has no place for examples",
                "Edit the jurors' prompts instead: improve edit.",
            )
        texts = [str(rubric).rstrip(), "Examples that people judged:"]
        for one, body in exemplars(labels.tuning, bodies(desk, labels.tuning)):
            asked = f"Input: {body['input']}\n" if body.get("input") else ""
            word = "pass" if one.should_pass else "fail"
            texts.append(f"{asked}Response: {body.get('output') or ''}\nVerdict: {word}")
        return {**plain, "rubric": "\n\n".join(texts) + "\n"}
    if key == WEIGHTS and not value:
        given = _weights(desk, labels, [_name(one) for one in jurors])
        return {**plain, "jurors": [{**one, "weight": given[_name(one)]} for one in jurors]}
    if key == "without" and value:
        _place(jurors, value)
        return {**plain, "jurors": [one for one in jurors if _name(one) != value]}
    if key == "model" and ":" in value:
        name, _, model = value.partition(":")
        at = _place(jurors, name)
        own: dict[str, Any] = {"name": model, "model": model}
        if model.partition("/")[0] in set(Vendor):
            # Else it is another model at the seat's own address.
            from reviewdesk.desk.live.panel_new import from_models

            (juror,) = from_models([model]).spec.jurors
            jurors[at] = {key: jurors[at][key] for key in jurors[at] if key not in _OF_MODEL}
            own = {"name": juror.name, "model": juror.model, "vendor": juror.vendor}
            own |= {"extra": dict(juror.extra)} if juror.extra else {}
        jurors[at] |= own
        return {**plain, "jurors": jurors}
    if key in {"strategy", "threshold", "quorum"} and value:
        number = re.fullmatch(r"[0-9]*\.?[0-9]+", value)
        return {**plain, key: float(value) if number else value}
    raise UsageError(f"no change {change!r} can be made to a panel", f"There are: {CHANGES}.")


def _name(juror: Mapping[str, Any]) -> str:
    return str(juror.get("name") or juror["model"])


def _place(jurors: Sequence[Mapping[str, Any]], name: str) -> int:
    names = [_name(one) for one in jurors]
    if name not in names:
        raise UsageError(f"the panel has no juror {name!r}", f"It has {', '.join(names)}.")
    return names.index(name)


_OF_MODEL = ("base_url", "api_key_env", "api_key", "price", "extra", "deployment", "api_version")


def _weights(desk: Desk, labels: SplitLabels, names: Sequence[str]) -> dict[str, float]:
    """Return a weight for each juror by its kappa with the labels of the tuning half."""
    from reviewdesk.domain.jurors.facts import suggested_weights
    from reviewdesk.domain.stats.rates import cohen_kappa

    stored = bodies(desk, labels.tuning)
    truths = [one.should_pass for one in labels.tuning]
    kappas = []
    for name in names:
        casts = [{vote["id"]: vote for vote in stored[one.key]["jurors"]} for one in labels.tuning]
        votes = [cast[name].get("pass") if name in cast else None for cast in casts]
        kappas.append((cohen_kappa(truths, votes), float(sum(v is not None for v in votes))))
    weights, _ = suggested_weights(kappas)
    found = {name: round(weight or 0.0, 3) for name, weight in zip(names, weights, strict=True)}
    if not all(found.values()):
        low = [name for name, weight in found.items() if not weight]
        raise UsageError(
            f"no weight for {', '.join(low)}: no better than chance in the tuning half",
            f"Try it without: without={low[0]}.",
        )
    return found


def exemplars(
    tuning: Sequence[LabelledCase], stored: Mapping[int, CanonicalVerdict]
) -> list[tuple[LabelledCase, CanonicalVerdict]]:
    """Choose examples from the tuning half: equally many of each label, short, in a fixed order.

    Those on which the panel was wrong come first. Texts that address their juror are left out,
    because jurors take instructions from the place where examples are.
    """
    from reviewdesk.domain.jury.injection import passages

    chosen: dict[bool, list[tuple[LabelledCase, CanonicalVerdict]]] = {True: [], False: []}
    groups: set[str] = set()
    for one in sorted(tuning, key=lambda one: (not one.wrong, one.group)):
        body = stored[one.key]
        texts = [str(body.get(name) or "") for name in ("input", "output")]
        mine = chosen[one.should_pass]
        plain = not any(passages(text) or len(text) > _SHORT for text in texts)
        if plain and texts[1] and len(mine) < _EACH and one.group not in groups:
            groups.add(one.group)
            mine.append((one, body))
    each = min(map(len, chosen.values()))
    if not each:
        raise UsageError(
            f"the tuning half has no short example of each label (at most {_SHORT} characters)",
            "Label more items, or edit the rubric: improve edit.",
        )
    return [pair for side in chosen.values() for pair in side[:each]]


def page(desk: Desk, run: Run, parent: Path | None = None, *, offered: bool = True) -> ImprovePage:
    """Return where a run's panel is wrong in the tuning half; with a panel file, also changes.

    The changes take seconds, and are left out unless they are to be ``offered``.

    Raises:
        PanelError: the panel file cannot be used, also if there is no split yet.
    """
    from reviewdesk.domain.jurors.tries import cells, smallest_gain

    if parent is not None:
        read_panel(parent)
    labels = split_labels(desk, run)
    asked = cells(labels.sizes, [(one.stratum, False, False) for one in labels.asked])
    return ImprovePage(
        labels,
        offers(desk, labels, parent) if parent is not None and offered and labels.tuning else (),
        smallest_gain(asked, len(labels.split.tries)),
    )


def offers(desk: Desk, labels: SplitLabels, parent: Path) -> tuple[OfferedChange, ...]:
    """Return the current panel, then changes by how often they are right in the tuning half.

    Changes that need calls come last. Others are kept if they are right more often, or if they
    are right as often with fewer jurors.
    """
    spec = read_panel(parent)
    plain = read_plain(parent)
    asked = [OfferedChange(EXAMPLES)] if labels.rubric or spec.rubric else []
    stored = bodies(desk, labels.tuning[:_MOST_JUDGED])
    judged = [one for one in labels.tuning if one.key in stored]
    if asks(spec, spec, labels.rubric) or any(
        stored_ballots(spec, body) is None for body in stored.values()
    ):
        return (OfferedChange(""), *asked)

    def right(panel: PanelSpec) -> int:
        return sum(
            decision(
                asked_case(stored[one.key], panel, labels.rubric),
                panel,
                stored_ballots(panel, stored[one.key]) or (),
            )
            is one.should_pass
            for one in judged
        )

    own = OfferedChange("", right(spec), len(judged))
    better: list[tuple[int, str]] = []
    strategy = plain.get("strategy")
    changes = [f"strategy={word}" for word in STRATEGIES if word != strategy]
    if not plain.get("labels"):
        changes += [f"threshold={at:g}" for at in THRESHOLDS if at != plain.get("threshold")]
    if strategy == "quorum":
        changes += [f"quorum={at}" for at in QUORUMS if at != str(plain.get("quorum"))]
    if len(plain["jurors"]) > 1:
        changes += [*(f"without={_name(one)}" for one in plain["jurors"]), WEIGHTS]
    for change in changes:
        with suppress(UsageError):
            text = plain_text(changed(desk, labels, plain, change)).encode()
            count = right(panel_from(Source.from_bytes(parent.name, text), parent.parent))
            if count + change.startswith("without=") > (own.right or 0):
                better.append((count, change))
    better.sort(key=lambda one: -one[0])
    offered = [OfferedChange(change, count, len(judged)) for count, change in better]
    return (own, *offered[:_MOST_OFFERED], *asked)


# Drafts that a person edits


def draft(desk: Desk, labels: SplitLabels, parent: Path) -> str:
    """Return a panel to edit, with the wrong items of the tuning half as comments at its end."""
    plain = read_plain(parent)
    if not plain.get("rubric") and labels.rubric:
        plain = {**plain, "rubric": labels.rubric}
    lines = ["# Edit the rubric, a prompt, a model or the rule, then save."]
    if labels.rubric is None and not plain.get("rubric"):
        lines.append("# The cases have rubrics of their own; edit the jurors' prompts.")
    wrong = labels.wrong.cases
    stored = bodies(desk, wrong[:MOST_SHOWN])
    notes = [_MARK]
    for one in wrong[:MOST_SHOWN]:
        said, due = ("pass", "fail") if one.decided else ("fail", "pass")
        more = "".join(f" · {text}" for text in (*one.tags, *one.notes))
        notes += ["", show_line(f"{one.id}: the panel says {said}, people say {due}{more}", 400)]
        for name in ("input", "output"):
            text = show(str(stored[one.key].get(name) or ""), 2 * _SHORT)
            notes += [f"  {name}:", *(f"    {line}" for line in text.splitlines())]
    comments = [notes[0], *(f"# {line}".rstrip() for line in notes[1:])]
    return "\n".join([*lines, plain_text(plain).rstrip(), "", *comments]) + "\n"


def kept_draft(
    labels: SplitLabels, parent: Path, text: str, name: str = "edit"
) -> WrittenCandidate:
    """Write a draft that a person edited as a candidate, without the comments of ``draft``.

    Raises:
        PanelError: it is no panel.
        UsageError: nothing was changed.
    """
    plain = text.partition(_MARK)[0].strip() + "\n"
    before = read_panel(parent)
    spec = panel_from(Source.from_bytes(str(parent), plain.encode()), parent.parent)
    if dataclasses.replace(spec, rubric=spec.rubric or labels.rubric) == dataclasses.replace(
        before, rubric=before.rubric or labels.rubric
    ):
        raise UsageError("nothing was changed, so no candidate is written")
    return written(parent, name, plain, labels.rubric)
