"""Re-runs as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reviewdesk.cli.plain.text import number
from reviewdesk.domain.enums import Status
from reviewdesk.domain.panel.rerun import contract_note
from reviewdesk.domain.safetext import show_line

if TYPE_CHECKING:
    from reviewdesk.desk.live.rerun import ConsentPlan, Host
    from reviewdesk.domain.panel.turnout import Turnout, Turnouts


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


def plan(found: ConsentPlan) -> list[str]:
    """Return what is about to be sent as lines, the hosts first."""
    lines = [_host(host) for host in found.hosts]
    lines += [
        f"{name} is not set or is no key: its jurors cannot be asked" for name in found.missing_keys
    ]
    worst = "unknown" if found.worst_usd is None else f"at most ${found.worst_usd:.4f}"
    models = ", ".join(found.models)
    calls = f"{found.calls:,} calls to {models}; cost: {worst}"
    return [*lines, f"{calls}; payload {found.payload_sha256[:16]}"]


def _host(host: Host) -> str:
    proxy = f" through the proxy {host.proxy}" if host.proxy else ""
    return f"{host.name}{proxy}: {host.calls:,} calls{how(host.key_env, host.is_encrypted)}"


def how(key_env: Sequence[str], is_encrypted: bool) -> str:
    """Describe which key a host's requests carry, and whether they are encrypted."""
    keys = f", with the key in {', '.join(key_env)}" if key_env else ", without a key"
    return keys + ("" if is_encrypted else ", not encrypted")


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


def turnout_lines(found: Turnouts) -> Iterator[str]:
    """Yield a line for each juror, then the message of the first fault of each kind."""
    for one in found.by_juror.values():
        yield f"juror {show_line(one.juror, 40)}: {_turnout(one)}"
    for kind in found.why:
        if found.messages[kind]:
            yield f"{_words(kind)}: {show_line(found.messages[kind], 300)}"


def fault_counts(kinds: Mapping[str, int]) -> str:
    """Return the number of faults of each kind, such as ``2 truncated, 1 rate limited``."""
    return ", ".join(f"{count:,} {_words(kind)}" for kind, count in kinds.items())


def _turnout(one: Turnout) -> str:
    parts = [f"{one.answered:,} answered"]
    parts += [f"{one.abstained:,} abstained"] if one.abstained else []
    parts += [f"{one.failed:,} failed ({fault_counts(one.why)})"] if one.failed else []
    return ", ".join(parts)


def _words(kind: str) -> str:
    return show_line(kind.replace("_", " "), 60)
