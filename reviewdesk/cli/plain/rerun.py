"""Re-runs as plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reviewdesk.cli.plain.text import number
from reviewdesk.domain.enums import Status
from reviewdesk.domain.panel.rerun import contract_note
from reviewdesk.domain.safetext import show_line

_VOTES = {True: "pass", False: "fail", None: "no vote"}


def rerun(shape: Mapping[str, Any]) -> str:
    """Return the result of one re-run, compared with the first verdict."""
    turned = "  FLIPPED" if shape["flipped"] else ""
    lines = [
        f"{show_line(shape['run'])}:{show_line(shape['id'])}  asked again: {_who(shape)}",
        (
            f"  decision {shape['was'] or '-'} -> {shape['decision'] or '-'}{turned}"
            f"  score {number(shape['was_score'])} -> {number(shape['score'])}"
        ),
    ]
    if shape["correct"] is not None:
        lines.append(f"  against the label: {'correct' if shape['correct'] else 'wrong'}")
    lines += [f"  {show_line(text)}" for text in _remarks(shape)]
    return "\n".join([*lines, *(_juror(one) for one in shape["jurors"])])


def _who(shape: Mapping[str, Any]) -> str:
    who = f"{shape['scope'] or 'a panel'} of {show_line(shape['panel'] or 'the report', 60)}"
    return who + (", masked" if shape["masked"] else "")


def _remarks(shape: Mapping[str, Any]) -> list[str]:
    remarks = [f"degraded: {reason}" for reason in shape["degraded"]]
    if shape["fallback_reason"]:
        used, asked = shape["strategy_used"], shape["strategy"]
        remarks.append(f"{used} in the place of {asked}: {shape['fallback_reason']}")
    if shape["contract_before"] is not None:
        remarks.append(contract_note(shape["contract_before"]))
    if shape["stopped"]:
        remarks.append("stopped before every juror had answered")
    hashes = shape["panel_hash"], shape["panel_hash_committed"]
    if None not in hashes and hashes[0] != hashes[1]:
        remarks.append("the panel that answered is not the one that was committed")
    return remarks


def _juror(one: Mapping[str, Any]) -> str:
    mark = "≠" if one["flipped"] else " "
    stays = "" if one["asked"] else "  (stays)"
    moved = "" if one["moved"] is None else f"  {one['moved']:+.3f}"
    name = show_line(one["id"], 60)
    return f"  {mark} {name}: {_cast(one['before'])} -> {_cast(one['after'])}{moved}{stays}"


def _cast(cast: Mapping[str, Any] | None) -> str:
    if cast is None:
        return "not on the panel"
    if (status := Status(cast["status"])) is not Status.OK:
        return status.value if status.failed else status.words
    score = "" if cast["score"] is None else f" {number(cast['score'])}"
    return f"{_VOTES[cast['pass']]}{score}"
