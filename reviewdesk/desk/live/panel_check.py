"""Check a panel file before any juror is is_used, for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reviewdesk.domain.jury.trim import Breakdown
from reviewdesk.domain.panel.composition import (
    ITEM_BYTES,
    Composition,
    PanelPlace,
    composition,
)
from reviewdesk.domain.verdict import Generator, Strategy
from reviewdesk.live.keys import is_malformed
from reviewdesk.reports.panels.panel_file import read_panel


@dataclass(frozen=True, slots=True)
class Checked:
    """A panel with the key variables that are not set; the values of variables are never kept."""

    file: str
    panel: Composition
    missing: tuple[str, ...]
    malformed: tuple[str, ...]
    """The variables whose value cannot be a key."""


def check_panel(
    path: str, environment: Mapping[str, str], generator: Generator | None = None
) -> Checked:
    """Read a panel file, and find which of its jurors' keys are missing or malformed.

    Raises:
        PanelError: the file cannot be used.
    """
    found = composition(read_panel(path), generator)
    wanted = dict.fromkeys(seat.key_variable for seat in found.seats if seat.key_variable)
    missing = tuple(name for name in wanted if not environment.get(name, "").strip())
    malformed = tuple(name for name in wanted if is_malformed(environment.get(name, "")))
    return Checked(path, found, missing, malformed)


def as_json(checked: Checked) -> dict[str, Any]:
    """Return ``panel check --json``."""
    panel = checked.panel
    rule = panel.spec.rule
    return {
        "file": checked.file,
        "name": panel.spec.name,
        "hash": panel.hash,
        "rubric": panel.spec.rubric,
        "rule": {
            "strategy": panel.strategy,
            "regime": rule.regime,
            "threshold": rule.threshold,
            "quorum": rule.quorum,
            "trim": {"fraction": rule.trim, "rounding": rule.rounding},
            "failed_jurors": rule.failed_jurors,
            "strategy_for": dict(rule.routes),
            **_share(panel),
        },
        "jurors": [_seat(seat, checked.missing) for seat in panel.seats],
        "families": list(panel.families),
        "breakdown": {
            "trim": _breakdown(panel.trim),
            "strategy": None if panel.by_strategy is None else _breakdown(panel.by_strategy),
        },
        "cost": _cost(panel),
        "unpriced": list(panel.unpriced),
        "warnings": list(panel.warnings),
        "missing_keys": list(checked.missing),
        "malformed_keys": list(checked.malformed),
    }


def _share(panel: Composition) -> dict[str, Any]:
    """Return the share that a supermajority needs; empty if no rule of the panel is one."""
    rule = panel.spec.rule
    is_used = Strategy.SUPERMAJORITY in {panel.strategy, *rule.routes.values()}
    return {"supermajority": rule.supermajority} if is_used else {}


def _seat(seat: PanelPlace, missing: tuple[str, ...]) -> dict[str, Any]:
    juror = seat.juror
    return {
        "name": juror.name,
        "model": juror.model,
        "vendor": juror.vendor,
        "family": None if seat.family is None else seat.family.name,
        "base_url": juror.base_url,
        "weight": juror.weight,
        "share": seat.share,
        "temperature": juror.temperature,
        "max_tokens": juror.max_tokens,
        "timeout": juror.timeout,
        "prompt_version": juror.prompt_version,
        "prompt_sha256": juror.prompt_sha256,
        "key_variable": seat.key_variable,
        "key_set": None if seat.key_variable is None else seat.key_variable not in missing,
    }


def _breakdown(found: Breakdown) -> dict[str, Any]:
    return {"jurors": found.jurors, "tolerates": found.tolerates, "breaks_at": found.breaks_at}


def _cost(panel: Composition) -> dict[str, Any] | None:
    if panel.cost is None:
        return None
    return {
        "item_bytes": ITEM_BYTES,
        "worst_usd": panel.cost.worst,
        "typical_usd": panel.cost.typical,
        "bribe_usd": panel.cost.bribe,
    }
