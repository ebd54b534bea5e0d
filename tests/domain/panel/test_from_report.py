from __future__ import annotations

from typing import Any

import pytest

from reviewdesk.domain.panel.prompt import prompt_sha256
from reviewdesk.domain.panel.spec import panel_of
from reviewdesk.domain.verdict import Generator, Policy, Verdict, verdict_from_body
from reviewdesk.errors import UsageError

VENDORS = {"openai": "api.openai.com", "ollama": "127.0.0.1:11434"}


def made(**juror: Any) -> Verdict:
    body: Any = {
        "id": "v",
        "case": {"test": "t"},
        "threshold": 0.4,
        "strategy": "median",
        "jurors": [{"id": "a", "score": 0.5, "model": "gpt-5-mini", **juror}],
    }
    return verdict_from_body(body, Policy(), Generator())


def told(**juror: Any) -> Any:
    """The header of a report whose panel was asked by this program."""
    return {"meta": {"panel": {"jurors": [{"id": "a", **juror}]}}}


def test_jurors_and_rule_are_taken_over() -> None:
    verdict = made(vendor="OpenAI", weight=2.0, temperature=0.5)
    found = panel_of(verdict, {}, VENDORS)
    (juror,) = found.jurors
    assert (juror.name, juror.model, juror.vendor) == ("a", "gpt-5-mini", "openai")
    assert (juror.weight, juror.temperature) == (2.0, 0.5)
    assert (found.rule.threshold, found.rule.strategy) == (0.4, "median")


def test_a_family_that_is_a_vendor_is_enough() -> None:
    assert panel_of(made(), {}, VENDORS).jurors[0].vendor == "openai"


def test_prompts_come_from_the_report() -> None:
    header = told(system_prompt="Be strict.", prompt="{output}", max_tokens=99)
    verdict = made(prompt_sha256=prompt_sha256("Be strict.", "{output}"))
    (juror,) = panel_of(verdict, header, VENDORS).jurors
    assert (juror.system_prompt, juror.prompt, juror.max_tokens) == ("Be strict.", "{output}", 99)


def test_a_report_never_says_where_a_key_goes() -> None:
    header = told(base_url="https://evil.example/v1", api_key_env="OPENAI_API_KEY")
    (juror,) = panel_of(made(), header, VENDORS).jurors
    assert (juror.base_url, juror.api_key_env) == (None, None)


@pytest.mark.parametrize(
    ("verdict", "header", "said"),
    [
        (made(model=None), {}, "the report does not say which model 'a' is"),
        (made(model="qwen3:8b"), {}, "the report does not say where 'a' (qwen3:8b) is asked"),
        (made(vendor="custom"), {}, "the report does not say where 'a' (gpt-5-mini) is asked"),
        (made(prompt_sha256="0" * 64), {}, "'a' was asked with a prompt that the report lacks"),
        (made(), told(host="proxy.example"), "'a' was asked at another address than openai's own"),
    ],
)
def test_what_cannot_be_asked_again_names_the_way_out(
    verdict: Verdict, header: Any, said: str
) -> None:
    with pytest.raises(UsageError) as raised:
        panel_of(verdict, header, VENDORS)
    assert str(raised.value) == f"{said}. Name a panel file with --panel."


def test_only_who_is_asked_has_to_be_known() -> None:
    body = made().body
    both: Any = {**body, "jurors": [*body["jurors"], {"id": "b", "score": 0.1, "model": "own"}]}
    verdict = verdict_from_body(both, Policy(), Generator())
    assert [juror.name for juror in panel_of(verdict, {}, VENDORS, {"a"}).jurors] == ["a"]
    for wanted in (None, {"b"}):
        with pytest.raises(UsageError, match="where 'b'"):
            panel_of(verdict, {}, VENDORS, wanted)


def test_a_verdict_without_jurors_has_no_panel() -> None:
    empty = verdict_from_body(
        {"id": "v", "case": {"test": "t"}, "jurors": []}, Policy(), Generator()
    )
    with pytest.raises(UsageError, match="v: has no jurors"):
        panel_of(empty, {}, VENDORS)


@pytest.mark.parametrize("junk", [None, 1, [], "x", {"jurors": 1}, {"jurors": [1, {"id": 2}]}])
def test_what_a_report_keeps_of_its_panel_may_be_anything(junk: Any) -> None:
    assert panel_of(made(), {"meta": {"panel": junk}}, VENDORS).jurors[0].system_prompt is None


def test_body_keys_do_not_come_from_the_report() -> None:
    with pytest.raises(UsageError, match="body keys of its panel's own"):
        panel_of(made(meta={"extra": {"store": True}}), {}, VENDORS)


def test_google_is_gemini() -> None:
    placed = {"gemini": "generativelanguage.googleapis.com"}
    (juror,) = panel_of(made(model="gemini-2.5-pro", vendor="Google"), {}, placed).jurors
    assert juror.vendor == "gemini"
