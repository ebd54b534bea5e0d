from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.panel.composition import Composition, composition, strategy_breakdown
from reviewdesk.domain.panel.juror import Juror, Price
from reviewdesk.domain.panel.prompt import render
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec
from reviewdesk.domain.verdict import Decision, Generator, Strategy, ballot

MODELS = (
    ("claude-sonnet-5-5", "anthropic"),
    ("gpt-6.1-sol", "openai"),
    ("gemini-3.8-flash", "gemini"),
    ("mistral-medium-3.5", "mistral"),
    ("deepseek-v4-flash", "deepseek"),
)


def seats(count: int = 5, **more: Any) -> tuple[Juror, ...]:
    return tuple(
        Juror(f"j{at}", model, vendor, **more) for at, (model, vendor) in enumerate(MODELS[:count])
    )


def look(
    jurors: tuple[Juror, ...], generator: str | None = None, rubric: str | None = "R", **rule: Any
) -> Composition:
    spec = PanelSpec("p", jurors, PanelRule(**{"strategy": "median", **rule}), rubric)
    return composition(spec, Generator(generator) if generator else None)


def test_five_jurors_of_five_families_warn_of_nothing() -> None:
    found = look(seats())
    assert found.warnings == ()
    assert found.families == ("anthropic", "openai", "gemini", "mistral", "deepseek")
    assert [seat.share for seat in found.seats] == [pytest.approx(0.2)] * 5
    assert [seat.key_variable for seat in found.seats][:2] == [
        "ANTHROPIC_API_KEY", "OPENAI_API_KEY",
    ]  # fmt: skip
    assert found.hash == found.spec.hash("R")


def test_weights_are_shares_and_a_missing_one_counts_as_one() -> None:
    jurors = (Juror("a", "gpt-5", "openai", weight=2), *seats(1))
    found = look(jurors, strategy="weighted_average")
    # 2 and an assumed 1.
    assert [seat.share for seat in found.seats] == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    assert look(jurors, strategy="median").warnings[-1].startswith("2 known families")


def test_few_families_and_that_of_the_generator_are_warned_of() -> None:
    found = look((Juror("a", "gpt-5", "openai"), Juror("b", "o3", "openai")))
    assert found.warnings == (
        "2 jurors: under five, a single one weighs a lot",
        "1 known family (openai): under three, jurors may be wrong together",
    )
    strange = look((Juror("x", "house-model", "vllm"),))
    assert strange.families == ()
    assert strange.warnings[1:] == ("0 known families: under three, jurors may be wrong together",)
    assert look(seats(), "claude-haiku-4-5").warnings == (
        "of the generator's own family (anthropic): j0",
    )
    assert look(seats(), "grok-4").warnings == ()
    assert look(seats(), "house-model").warnings == (
        "the generator's family is not known, so jurors cannot be compared with it",
    )


def test_one_model_on_two_seats_and_a_missing_rubric_are_warned_of() -> None:
    twice = (*seats(), Juror("again", "openai/GPT-6.1-Sol", "openrouter"))
    assert look(twice).warnings == ("one model on 2 seats: j1, again (gpt-6.1-sol)",)
    assert look(seats(), rubric=None).warnings == (
        "the panel has no rubric, so each case must bring its own",
    )


@pytest.mark.parametrize(
    ("base_url", "host"),
    [
        ("http://judge.example/v1", "judge.example"),
        ("http://10.0.0.7:8000/v1", "10.0.0.7"),
        ("http://localhost.example/v1", "localhost.example"),
        ("https://judge.example/v1", None),
        ("http://localhost:8000/v1", None),
        ("http://127.3.2.1/v1", None),
        ("http://[::1]:8000/v1", None),
        (None, None),
    ],
)
def test_a_key_over_plain_http(base_url: str | None, host: str | None) -> None:
    found = look((*seats(4), Juror("x", "deepseek-v4", "deepseek", base_url=base_url)))
    expected = () if host is None else (f"x: DEEPSEEK_API_KEY would go over plain http to {host}",)
    assert found.warnings == expected
    keyless = Juror("x", "qwen3", "vllm", base_url=base_url)
    assert look((*seats(4), keyless)).warnings == ()


def test_cost_and_bribe() -> None:
    jurors = tuple(
        Juror(f"j{at}", "gpt-4.1", "openai", max_tokens=1000, price=Price(at + 1.0, 10.0))
        for at in range(5)
    )
    found = look(jurors).cost
    assert found is not None
    full = dict.fromkeys(("input", "output", "alternative", "reference", "rubric"), "x")
    told = render(None, None, full, "0" * 32)
    sent = 4000 + len(told.system.encode()) + len(told.user.encode())
    # Prices in of 1 to 5 add up to 15; 1,000 tokens out at 10, five times.
    assert found.worst == pytest.approx((15 * sent + 5 * 1000 * 10) / 1e6)
    # Four bytes a token, rounded up, and 300 tokens out.
    tokens = -(-sent // 4)
    assert found.typical == pytest.approx((15 * tokens + 5 * 300 * 10) / 1e6)
    # A fifth of five is one a side, so that the two cheapest carry the trimmed mean.
    assert found.bribe == pytest.approx((3 * tokens + 2 * 300 * 10) / 1e6)


def test_the_cost_is_unknown_where_a_price_is_missing() -> None:
    found = look((Juror("a", "gpt-5", "openai", price=Price(1, 1)), *seats(2)))
    assert (found.cost, found.unpriced) == (None, ("j0", "j1"))


def test_a_regime_decides_where_no_strategy_does() -> None:
    assert look(seats(), strategy=None, regime="routine").strategy is Strategy.TRIMMED_MEAN
    dispute = look(seats(), strategy=None, regime="dispute")
    assert (dispute.strategy, dispute.by_strategy) == (None, None)
    assert str(dispute.trim) == "tolerates 1 of 5, breaks at 2"


@pytest.mark.parametrize(
    ("strategy", "n", "told"),
    [
        # The middle one of five: two may lie outside without moving it at will.
        ("median", 5, "tolerates 2 of 5, breaks at 3"),
        # Of four it is the mean of two, and two bought ones hold one of them.
        ("median", 4, "tolerates 1 of 4, breaks at 2"),
        ("mean", 5, "tolerates 0 of 5, breaks at 1"),
        ("weighted_average", 5, "tolerates 0 of 5, breaks at 1"),
        ("highest", 5, "tolerates 0 of 5, breaks at 1"),
        # 20% of ten is two a side.
        ("trimmed_mean", 10, "tolerates 2 of 10, breaks at 3"),
    ],
)
def test_what_each_strategy_bears(strategy: str, n: int, told: str) -> None:
    assert str(strategy_breakdown(Strategy(strategy), PanelRule(), n)) == told
    assert strategy_breakdown(Strategy.WEIGHTED_VOTE, PanelRule(), n) is None


def turns(rule: PanelRule, n: int, bought: int, *, honest: bool) -> bool:
    """Whether so many bought seats give another decision than what all the others want."""
    cast = [ballot(f"j{at}", float(honest if at >= bought else not honest)) for at in range(n)]
    decided = PanelSpec("p", (), rule).decide(cast).decision
    return decided is not (Decision.PASS if honest else Decision.FAIL)


@given(
    st.integers(1, 9),
    st.sampled_from(("majority", "quorum", "unanimous", "median", "trimmed_mean")),
    st.sampled_from((0.5, 0.67, "2/3", 1.0, 0.2)),
)
def test_so_many_bought_votes_turn_a_panel_that_agrees_and_one_fewer_does_not(
    n: int, strategy: str, quorum: float | str
) -> None:
    rule = PanelRule(strategy, threshold=0.5, quorum=quorum)
    found = strategy_breakdown(Strategy(strategy), rule, n)
    assert found is not None
    for honest in (True, False):
        assert not turns(rule, n, found.tolerates, honest=honest)
    # The figure is the cheaper of the two directions. A trimmed mean that can be carried anywhere
    # needs scores beyond 0 and 1 to show it.
    if strategy != "trimmed_mean":
        assert any(turns(rule, n, found.breaks_at, honest=honest) for honest in (True, False))


def test_a_short_limit_of_a_model_that_thinks_is_warned_of() -> None:
    short = Juror("a", "claude-sonnet-5-5", "anthropic", max_tokens=1024, temperature=0.0)
    found = look((short,)).warnings
    assert "the temperature of a is not sent: claude-sonnet-5-5 takes none" in found
    assert any(
        one.startswith("a thinks before it answers, and its max_tokens of 1024") for one in found
    )
    roomy = Juror("a", "claude-sonnet-5-5", "anthropic")
    assert not [one for one in look((roomy,)).warnings if "thinks" in one or "temperature" in one]
