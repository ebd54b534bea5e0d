"""A panel made of keys, of a report's jurors or of a list: it is valid, and every juror can be
asked where it says."""

import json
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.live import panel_new
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.verdict import verdict_from_body
from reviewdesk.errors import UsageError
from reviewdesk.live.records import Request, Response
from reviewdesk.reports.panels.panel_file import read_panel
from tests.helpers import SAMPLES
from tests.live.server import Seen, envelope
from tests.live.server import verdict as answer

KEY = "sk-sentinel/7f3a+9c=ef01"
ROUTER = {"OPENROUTER_API_KEY": KEY}
FIVE = dict.fromkeys(
    ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY",
     "DEEPSEEK_API_KEY"),
    KEY,
)  # fmt: skip
REPORTS = [
    "support-bot.jsonl", "support-bot-second-panel.jsonl", "code-review.json", "release-notes.json",
    "library-desk.jsonl", "hostile.json",
]  # fmt: skip


def vendors(panel: PanelSpec) -> list[str]:
    return [one.vendor for one in panel.jurors]


def test_each_key_gives_one_juror_and_a_routers_fills_in_what_is_missing() -> None:
    found = panel_new.from_environment({"OPENAI_API_KEY": KEY, "MISTRAL_API_KEY": "  "})
    assert [(one.vendor, one.model) for one in found.jurors] == [("openai", "gpt-6.1-sol")]
    assert vendors(panel_new.from_environment(FIVE)) == [
        "anthropic", "openai", "gemini", "mistral", "deepseek",
    ]  # fmt: skip
    assert vendors(panel_new.from_environment(ROUTER)) == ["openrouter"] * 5
    both = panel_new.from_environment(ROUTER | {"OPENAI_API_KEY": KEY})
    assert sorted(vendors(both)) == ["openai"] + ["openrouter"] * 4
    with pytest.raises(UsageError, match="no vendor's API key is set") as caught:
        panel_new.from_environment({})
    assert "ANTHROPIC_API_KEY, OPENAI_API_KEY" in str(caught.value)


def test_models_are_named_with_or_without_their_vendor() -> None:
    names = ["google/gemini-2.5-flash", "claude-haiku-5-5", "ollama/qwen3:8b", "ollama/qwen3:8b"]
    found = panel_new.from_models(names).jurors
    assert [(one.name, one.vendor) for one in found] == [
        ("gemini-2.5-flash", "gemini"), ("claude-haiku-5-5", "anthropic"),
        ("qwen3:8b", "ollama"), ("qwen3:8b 2", "ollama"),
    ]  # fmt: skip
    for name, problem in {
        "acme": "the vendor is not known",
        "custom/x": "the vendor custom needs an address",
    }.items():
        with pytest.raises(UsageError, match=problem):
            panel_new.from_models([name])


@pytest.mark.parametrize("environment", [FIVE, ROUTER, {}])
@pytest.mark.parametrize("name", REPORTS)
def test_samples_give_valid_panels(name: str, environment: dict[str, str], tmp_path: Path) -> None:
    made, notes = panel_new.from_report(str(SAMPLES / name), environment)
    path = tmp_path / "p.yaml"
    panel_new.write_panel(made, notes, path)
    assert KEY not in path.read_text(encoding="utf-8")
    found = read_panel(path)
    assert found.hash(None) == made.hash(None)
    told = [(one.name, one.model, one.vendor, one.max_tokens) for one in found.jurors]
    own = [(one.name, one.model, one.vendor, one.max_tokens) for one in made.jurors]
    assert told == own


def test_the_rule_of_the_report_is_taken_over() -> None:
    rule = panel_new.from_report(str(SAMPLES / "support-bot.jsonl"), ROUTER)[0].rule
    assert (rule.strategy, rule.threshold, rule.quorum) == ("trimmed_mean", 0.7, 0.5)


def test_a_minimum_fits_the_jurors_that_can_be_asked(tmp_path: Path) -> None:
    models = ("claude-haiku-4-5", "anthropic"), ("mine", "a vendor that nobody knows")
    jurors = [{"id": name, "model": name, "vendor": vendor, "score": 1} for name, vendor in models]
    body = {"id": "v", "case": {"test": "t"}, "threshold": 0.5, "jurors": jurors}
    body["meta"] = {"reviewdesk": {"min_answered": 2}}
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"schema": "reviewdesk.report/1", "verdicts": [body]}))
    found, notes = panel_new.from_report(str(path), {"ANTHROPIC_API_KEY": "x" * 40})
    assert (len(found.jurors), found.rule.min_answered) == (1, 1)
    assert "min_answered: 2 became 1, as many as can be asked" in notes


def test_a_panel_of_every_setting_reads_back(tmp_path: Path) -> None:
    text = """
name: p
rubric: r
threshold: 0.6
quorum: 2/3
strategy: quorum
trim: {fraction: 0.1, rounding: nearest}
failed_jurors: median
min_answered: 0.6
strategy_for: {red-team: unanimous}
supermajority: 3/4
jurors:
- {name: a, model: claude-haiku-4-5, vendor: anthropic, max_tokens: 9000,
   weight: 2, timeout: 9, system_prompt: s, prompt: "{output}",
   headers: {x-team: TEAM}, extra: {thinking: {type: enabled, budget_tokens: 2000}}}
- {name: b, model: m, vendor: azure, base_url: "https://x.test", deployment: d, temperature: 0,
   api_version: "2026-10-21", api_key_env: MINE}
- {name: c, model: gpt-5.2, vendor: openai, extra: {reasoning_effort: none}, api_key: "@work"}
"""
    first, second = tmp_path / "one.yaml", tmp_path / "two.yaml"
    first.write_text(text)
    panel = read_panel(first)
    panel_new.write_panel(panel, (), second)
    again = read_panel(second)
    assert again.jurors == panel.jurors
    assert again.rule == panel.rule
    assert (again.name, again.rubric) == (panel.name, panel.rubric)


def test_a_file_that_is_there_is_not_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    made = panel_new.from_environment(FIVE)
    panel_new.write_panel(made, (), path)
    path.write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        panel_new.write_panel(made, (), path)
    assert path.read_text() == "mine"
    panel_new.write_panel(made, (), path, force=True)
    assert len(read_panel(path).jurors) == 5
    with pytest.raises(UsageError, match="written as YAML"):
        panel_new.write_panel(made, (), tmp_path / "p.toml")


def verdict(*jurors: dict[str, Any]) -> Any:
    body: Any = {"id": "v", "case": {"test": "t"}, "strategy": "median", "jurors": list(jurors)}
    return verdict_from_body(body)


def test_the_jurors_of_a_verdict_are_asked_where_a_key_reaches() -> None:
    found = verdict(
        {"id": "g", "model": "gemini-2.5-pro", "vendor": "google", "score": 0.5},
        {"id": "q", "model": "qwen-max", "vendor": "alibaba", "score": 0.5},
        {"id": "c", "model": "claude-sonnet-4-5", "vendor": "anthropic", "score": 0.5},
    )
    some = panel_new.reachable_panel(found, {"GEMINI_API_KEY": KEY})
    assert [one.name for one in some.jurors] == ["g"]
    routed = panel_new.reachable_panel(found, ROUTER)
    assert [one.model for one in routed.jurors] == [
        "google/gemini-2.5-pro", "qwen/qwen-max", "anthropic/claude-sonnet-4.5",
    ]  # fmt: skip
    other = panel_new.reachable_panel(found, {"OPENAI_API_KEY": KEY})
    assert [one.model for one in other.jurors] == ["gpt-6.1-sol"]
    assert other.rule.strategy == "median"
    with pytest.raises(UsageError, match="no juror of the report can be asked"):
        panel_new.reachable_panel(found, {})


class Answering:
    """A transport that answers each request as its wire does, and keeps what was sent."""

    def __init__(self) -> None:
        self.sent: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.sent.append(request)
        seen = Seen(request.url, {}, request.body)
        said = json.dumps(envelope(seen, answer(seen)))
        return Response(200, {"content-type": "application/json"}, said.encode())

    async def close(self) -> None:
        """Nothing is open."""


async def test_a_probe_makes_one_call_to_each_juror() -> None:
    made = panel_new.from_environment(FIVE)
    there = Answering()
    ballots = await panel_new.probe(made, environment=FIVE, transport=there)
    assert [ballot["status"] for ballot in ballots] == ["ok"] * 5
    assert len(there.sent) == 5
    assert panel_new.probe_plan(made, FIVE).calls == 5
