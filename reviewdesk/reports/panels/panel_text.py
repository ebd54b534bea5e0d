"""Write a panel as the text of a panel file, which ``panel_file`` reads back as the same panel."""

from __future__ import annotations

import json
from typing import Any

import yaml

from reviewdesk.domain.canonical import without_nulls
from reviewdesk.domain.jury.quorum import own_share
from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec
from reviewdesk.reports.panels.panel_file import STRATEGIES


def panel_text(panel: PanelSpec, about: str = "") -> str:
    """Return the YAML of a panel, below ``about`` as a comment; what has its default is left out.

    Prices are left out, because the table of prices gives them when the file is read. A rule that
    no panel file can name, such as an aggregate of one's own, is left out too.
    """
    comment = "".join(f"# {line}\n" for line in about.splitlines())
    said = {"name": panel.name, "rubric": panel.rubric, **_rule(panel.rule)}
    said["jurors"] = [_juror(one) for one in panel.jurors]
    plain = json.loads(json.dumps(without_nulls(said)))  # words instead of enumerations
    return comment + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)


def _rule(rule: PanelRule) -> dict[str, Any]:
    strategy = rule.strategy if rule.strategy in STRATEGIES else None
    return {
        "threshold": rule.threshold,
        "quorum": rule.quorum,
        "strategy": strategy,
        "trim": {"fraction": rule.trim, "rounding": rule.rounding},
        "regime": rule.regime,
        "failed_jurors": rule.failed_jurors,
        "min_answered": rule.min_answered,
        "strategy_for": dict(rule.routes) or None,
        "supermajority": own_share(rule.supermajority),
        "labels": list(rule.labels) or None,
        "passing": list(rule.passing) or None,
        "failing": list(rule.failing) or None,
    }


def _juror(one: Juror) -> dict[str, Any]:
    plain = Juror(one.name, one.model, one.vendor, extra=one.extra)
    key = "api_key" if (one.api_key_env or "").startswith("@") else "api_key_env"
    said: dict[str, Any] = {
        "name": one.name,
        "model": one.model,
        "vendor": one.vendor,
        "base_url": one.base_url,
        key: one.api_key_env,
        "weight": one.weight,
        "temperature": one.temperature,
        "max_tokens": None if one.max_tokens == plain.max_tokens else one.max_tokens,
        "timeout": None if one.timeout == plain.timeout else one.timeout,
        "system_prompt": one.system_prompt,
        "prompt": one.prompt,
        "extra": dict(one.extra) or None,
        "headers": dict(one.headers) or None,
        "deployment": one.deployment,
        "api_version": one.api_version,
    }
    return without_nulls(said)
