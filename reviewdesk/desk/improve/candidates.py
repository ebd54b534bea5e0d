"""Candidate panels: each is a file beside its parent, named ``PARENT+CHANGE.yaml``.

Nothing here reads an item of the holdout.
"""

import difflib
import glob
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.files import write
from reviewdesk.desk.improve.split import bodies
from reviewdesk.domain.labels.split import LabelledCase, SplitLabels, WrittenCandidate
from reviewdesk.domain.panel.case import Case, case_of
from reviewdesk.domain.panel.juror import VENDORS
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.safetext import show, show_line
from reviewdesk.domain.verdict import CanonicalBallot, CanonicalVerdict
from reviewdesk.errors import UsageError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.panels.panel_file import panel_from, plain_text, read_panel, read_plain

CHANGES = (
    "strategy=NAME, threshold=0.6, quorum=2/3, without=JUROR, weights, examples, "
    "model=JUROR:VENDOR/MODEL"
)
STRATEGIES = ("quorum", "majority", "unanimous", "mean", "median", "trimmed_mean")
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)
QUORUMS = ("1/2", "2/3", "3/4", "1")
MOST_SHOWN = 20
"""The wrong items that a draft shows as comments."""
_MOST_OFFERED = 8
_SHORT = 300
"""The most characters of a text of an example."""
_EACH = 2
_SUFFIXES = (".yaml", ".yml", ".toml")
_MARK = "# The wrong items of the tuning half follow. All from here on is left out of the file."
_OF_MODEL = ("base_url", "api_key_env", "api_key", "price", "extra", "deployment", "api_version")


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
    seats = [replaced(one, weight=None, order=None) for one in parent.jurors]
    asked = [replaced(one, weight=None, order=None) for one in candidate.jurors]
    rubrics = {rubric or parent.rubric, parent.rubric or rubric, candidate.rubric or rubric}
    old = parent.rule
    new = candidate.rule
    is_same = (old.swap, old.labels) == (new.swap, new.labels)
    return not is_same or len(rubrics) > 1 or any(one not in seats for one in asked)


# Files


def parent_of(candidate: Path) -> Path:
    """Return the panel file that a candidate is named after; UsageError if it is not beside it."""
    stem = candidate.stem.partition("+")[0]
    for suffix in (candidate.suffix, *_SUFFIXES):
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
    return tuple(sorted(one for one in found if one.suffix in _SUFFIXES))


def written(labels: SplitLabels, parent: Path, text: str, name: str = "edit") -> WrittenCandidate:
    """Write a panel, without the comments of ``draft``, as a candidate beside its parent.

    Its name is the next free one. Raise PanelError if the text is not a panel. Raise UsageError if
    it decides as its parent does, or cannot be written.
    """
    text = text.partition(_MARK)[0].strip() + "\n"
    slug = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:60] or "change"
    path = parent.with_name(f"{parent.stem}+{slug}.yaml")
    number = 2
    while path.exists() and path.read_bytes() != text.encode():
        path = parent.with_name(f"{parent.stem}+{slug}-{number}.yaml")
        number = number + 1
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


# Changes that the program makes


def made(desk: Desk, labels: SplitLabels, parent: Path, change: str) -> WrittenCandidate:
    """Write the candidate that a change such as ``threshold=0.6`` makes of a panel."""
    return written(labels, parent, plain_text(_changed(desk, labels, parent, change)), change)


def _changed(desk: Desk, labels: SplitLabels, parent: Path, change: str) -> dict[str, Any]:
    plain = read_plain(parent)
    key, _, value = (part.strip() for part in change.partition("="))
    jurors = {str(one.get("name") or one["model"]): dict(one) for one in plain["jurors"]}
    if change in {"examples", "weights"} and not labels.tuning:
        raise UsageError(
            f"{change} comes from the tuning half, which is empty", "Run improve split."
        )
    if change == "examples":
        return {**plain, "rubric": _with_examples(desk, labels, plain.get("rubric"))}
    if change == "weights":
        weights = _weights(desk, labels, list(jurors))
        return {
            **plain,
            "jurors": [one | {"weight": weights[name]} for name, one in jurors.items()],
        }
    if key in {"strategy", "threshold", "quorum"} and value:
        number = re.fullmatch(r"[0-9]*\.?[0-9]+", value)
        return {**plain, key: float(value) if number else value}
    name, _, model = value.partition(":") if key == "model" else (value, "", "")
    if key not in {"without", "model"} or not name or bool(model) is not (key == "model"):
        raise UsageError(f"no change {change!r} can be made to a panel", f"There are: {CHANGES}.")
    if name not in jurors:
        raise UsageError(f"the panel has no juror {name!r}", f"It has {', '.join(jurors)}.")
    if key == "without":
        del jurors[name]
    elif model.partition("/")[0] in VENDORS:
        from reviewdesk.desk.live.panel_new import from_models

        (juror,) = from_models([model]).spec.jurors
        own = {"name": juror.name, "model": juror.model, "vendor": juror.vendor}
        kept = {key: one for key, one in jurors[name].items() if key not in _OF_MODEL}
        jurors[name] = kept | own | ({"extra": dict(juror.extra)} if juror.extra else {})
    else:
        jurors[name] |= {"name": model, "model": model}  # at the seat's own address
    return {**plain, "jurors": list(jurors.values())}


def _weights(desk: Desk, labels: SplitLabels, names: Sequence[str]) -> dict[str, float]:
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
    if low := [name for name, weight in found.items() if not weight]:
        raise UsageError(
            f"no weight for {', '.join(low)}: no better than chance in the tuning half",
            f"Try it without: without={low[0]}.",
        )
    return found


def _with_examples(desk: Desk, labels: SplitLabels, rubric: object) -> str:
    rubric = rubric or labels.rubric
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
    return "\n\n".join(texts) + "\n"


def exemplars(
    tuning: Sequence[LabelledCase], stored: Mapping[int, CanonicalVerdict]
) -> list[tuple[LabelledCase, CanonicalVerdict]]:
    """Choose examples from the tuning half: equally many of each label, short, in a fixed order.

    Those on which the panel was wrong come first. Texts that address their juror are left out,
    because jurors take instructions from the place where examples are.
    """
    from reviewdesk.domain.jury.injection import passages

    chosen: dict[bool, dict[str, tuple[LabelledCase, CanonicalVerdict]]] = {True: {}, False: {}}
    for one in sorted(tuning, key=lambda one: (one.decided is one.should_pass, one.group)):
        body = stored[one.key]
        texts = [str(body.get(name) or "") for name in ("input", "output")]
        mine = chosen[one.should_pass]
        is_plain = not any(passages(text) or len(text) > _SHORT for text in texts)
        is_new = one.group not in chosen[True].keys() | chosen[False].keys()
        if is_plain and is_new and texts[1] and len(mine) < _EACH:
            mine[one.group] = one, body
    each = min(map(len, chosen.values()))
    if not each:
        raise UsageError(
            f"the tuning half has no short example of each label (at most {_SHORT} characters)",
            "Label more items, or edit the rubric: improve edit.",
        )
    return [pair for side in chosen.values() for pair in [*side.values()][:each]]


def offers(desk: Desk, labels: SplitLabels, parent: Path) -> dict[str, int | None]:
    """Return changes of a panel, with how many tuning items each is right on, the best first.

    The empty change is the panel itself. Changes that need calls have ``None`` and come last.
    Others are kept if they are right more often, or as often with fewer jurors. Raise PanelError if
    the panel file cannot be used.
    """
    from reviewdesk.domain.panel.verdict_body import passes

    spec = read_panel(parent)
    if not labels.tuning:
        return {}
    asked: dict[str, int | None] = {"examples": None} if labels.rubric or spec.rubric else {}
    judged = labels.judged
    stored = bodies(desk, judged)
    if asks(spec, spec, labels.rubric) or any(
        stored_ballots(spec, body) is None for body in stored.values()
    ):
        return asked

    def right(panel: PanelSpec) -> int:
        given = [
            (asked_case(body, panel, labels.rubric), stored_ballots(panel, body) or ())
            for body in (stored[one.key] for one in judged)
        ]
        found = zip(judged, passes(panel, given), strict=True)
        return sum(passed is one.should_pass for one, passed in found)

    own = right(spec)
    changes = [*(f"strategy={word}" for word in STRATEGIES), "weights"]
    changes += [f"threshold={at:g}" for at in THRESHOLDS if not spec.rule.labels]
    changes += [f"quorum={at}" for at in QUORUMS if spec.rule.strategy == "quorum"]
    if len(spec.jurors) > 1:
        changes += [f"without={one.name}" for one in spec.jurors]
    better: dict[str, int | None] = {}
    for change in changes:
        with suppress(UsageError):
            text = plain_text(_changed(desk, labels, parent, change)).encode()
            count = right(panel_from(Source.from_bytes(parent.name, text), parent.parent))
            if count + change.startswith("without=") > own:
                better[change] = count
    best = sorted(better.items(), key=lambda pair: -(pair[1] or 0))[:_MOST_OFFERED]
    return {"": own, **dict(best), **asked}


def draft(desk: Desk, labels: SplitLabels, parent: Path) -> str:
    """Return a panel to edit, with the wrong items of the tuning half as comments at its end."""
    plain = read_plain(parent)
    if not plain.get("rubric") and labels.rubric:
        plain = {**plain, "rubric": labels.rubric}
    lines = ["# Edit the rubric, a prompt, a model or the rule, then save."]
    if not plain.get("rubric"):
        lines.append("# The cases have rubrics of their own; edit the jurors' prompts.")
    shown = labels.wrong[:MOST_SHOWN]
    stored = bodies(desk, shown)
    notes: list[str] = []
    for one in shown:
        said, due = ("pass", "fail") if one.decided else ("fail", "pass")
        more = "".join(f" · {text}" for text in (*one.tags, *one.notes))
        notes += ["", show_line(f"{one.id}: the panel says {said}, people say {due}{more}", 400)]
        for name in ("input", "output"):
            text = show(str(stored[one.key].get(name) or ""), 2 * _SHORT)
            notes += [f"  {name}:", *(f"    {line}" for line in text.splitlines())]
    comments = [f"# {line}".rstrip() for line in notes]
    return "\n".join([*lines, plain_text(plain).rstrip(), "", _MARK, *comments]) + "\n"
