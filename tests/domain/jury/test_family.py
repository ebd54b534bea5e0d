from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Assessment, Flag
from reviewdesk.domain.jury.family import Family, bias_warning, family, relatives, same_family
from reviewdesk.domain.verdict import Ballot, Generator
from tests.domain.bodies import body, juror, read

UNKNOWN = st.sampled_from(
    [None, "", "house-model", "acme/judge", "o2-mini", "o10", "octo", "my-claude"]
)


def _jurors(*models: str | None) -> tuple[Ballot, ...]:
    seats = (juror(f"j{seat}", 0.5, model=model) for seat, model in enumerate(models))
    return read(body(*seats)).ballots


FAMILIES = {
    "anthropic": ["claude-opus-4-7", "anthropic/claude-sonnet-4-5", "us.anthropic.claude-3-haiku",
                  "CLAUDE-3"],
    "openai": ["gpt-4o", "chatgpt-4o-latest", "o1", "o3-mini", "openrouter/openai/o4-mini"],
    "gemini": ["gemini-2.5-pro", "models/gemini-1.5-flash", "google/some-new-thing"],
    "mistral": ["mistral-1", "mixtral-1", "codestral-1", "ministral-1", "magistral-1",
                "devstral-1"],
    # Families beyond the four are marked.
    "deepseek": ["deepseek-r1"], "qwen": ["qwen2.5-72b"], "meta": ["meta-llama/llama-3-70b"],
    "xai": ["grok-4"], "moonshot": ["kimi-k2", "moonshot-v1"], "cohere": ["command-r-plus"],
    "zhipu": ["glm-4"], "microsoft": ["phi-4"], "amazon": ["nova-pro"],
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_families(name: str) -> None:
    found = Family(name, extended=name not in {"anthropic", "openai", "gemini", "mistral"})
    for model in FAMILIES[name]:
        assert family(model) == found, model


def test_a_vendor_helps_only_where_the_model_says_nothing() -> None:
    assert family("judge-7", "Anthropic") == Family("anthropic")
    assert family(None, "xai") == Family("xai", extended=True)
    assert family("openai/judge-7") == Family("openai")
    assert family("gpt-4o", "anthropic") == Family("openai")
    assert family("judge-7", "acme") is None


@given(UNKNOWN, st.lists(UNKNOWN, max_size=4))
def test_unknown_equals_nothing_not_even_itself(generator: str | None, models: Any) -> None:
    assert same_family(_jurors(*models, generator), Generator(generator)) is None
    assert relatives(_jurors(*models, generator), Generator(generator)) == ()


@pytest.mark.parametrize(
    ("generator", "models", "shared"),
    [
        ("claude-3", ("claude-4", "gpt-4o"), True),
        ("claude-3", ("gpt-4o", "gemini-2.5-pro"), False),
        ("claude-3", ("house-model", None), None),
        ("claude-3", ("house-model", "gpt-4o"), False),
        ("house-model", ("claude-4", "house-model"), None),
        ("claude-3", (), None),
        ("gemma-2", ("gemini-2.5-pro",), True),
    ],
)
def test_same_family(generator: str, models: tuple[str, ...], shared: bool | None) -> None:
    assert same_family(_jurors(*models), Generator(generator)) is shared
    seats = (juror(f"j{seat}", 0.5, model=model) for seat, model in enumerate(models))
    made = assess(read(body(*seats, generator={"model": generator})))
    # A run computes it by columns.
    assert made.same_family is shared


@pytest.mark.parametrize("low", [True, False])
@pytest.mark.parametrize("shared", [True, False, None])
def test_the_warning_needs_low_agreement_and_a_relative(low: bool, shared: bool | None) -> None:
    warned = bias_warning(
        _jurors("claude-4", "gpt-4o"), Generator("claude-3"), low=low, shared=shared
    )
    assert (warned is not None) == (low and shared is True)


def test_the_warning_names_the_relatives_and_nobody_else() -> None:
    seats = _jurors("claude-4", "gpt-4o", "claude-3")
    warned = bias_warning(seats, Generator("anthropic/claude-3"), low=True, shared=True)
    assert warned is not None
    assert "j0, j2" in warned
    assert "j1" not in warned
    assert "anthropic" in warned
    warned = bias_warning(_jurors("house-model"), Generator(None), low=True, shared=True)
    assert warned is not None
    assert "j0" not in warned


KIN = {"generator": {"model": "claude-3"}}


def _panel(*scores: float | None, **more: Any) -> Assessment:
    seats = (
        juror(model, score, model=model, **({"status": "timeout"} if score is None else {}))
        for model, score in zip(("claude-4", "gpt-4o", "gemini-2.5-pro"), scores, strict=False)
    )
    return assess(read(body(*seats, **KIN, **more), threshold=0.7))


def test_an_undefined_agreement_never_warns() -> None:
    # One answer has no agreement, whatever word the producer writes beside it.
    for stated in ({}, {"band": "low"}, {"band": "low", "agreement": _alpha(None)}):
        found = _panel(0.9, None, None, **stated)
        assert (found.same_family, found.bias_warning) == (True, None)
        assert Flag.SAME_FAMILY in found.flags


def test_the_band_of_the_warning_is_the_one_of_a_figure() -> None:
    # A figure that the report calls undefined is none, whatever word or ballots are beside it.
    low = {"band": "low", "agreement": _alpha(None)}
    assert _panel(0.9, 0.9, 0.9, **low).bias_warning is None
    assert _panel(0.9, 0.1, 0.1, **low).bias_warning is None
    # A band that stands with its figure, or alone, is the report's to give.
    assert _panel(0.9, 0.9, 0.9, band="low", agreement=_alpha(0.0)).bias_warning is not None
    assert _panel(0.9, 0.9, 0.9, band="low").bias_warning is not None
    assert _panel(0.9, 0.1, 0.1, band="high", agreement=_alpha(1.0)).bias_warning is None
    # A stated value without a band is banded by the lines, unless its measure has none.
    assert _panel(0.9, 0.9, 0.9, agreement=_alpha(0.5)).bias_warning is not None
    assert _panel(0.9, 0.1, 0.1, agreement=_alpha(0.9)).bias_warning is None
    share = {"value": 0.33, "metric": "pairwise"}
    assert _panel(0.9, 0.1, 0.1, agreement=share).bias_warning is None
    assert _panel(0.9, 0.1, 0.1).bias_warning is not None


def _alpha(value: float | None) -> dict[str, Any]:
    return {"value": value, "metric": "krippendorff_alpha"}
