from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.panel.juror import Price

PRICE = Price(input=2.0, output=10.0)
COUNT = st.integers(0, 10**9)


def test_a_call_costs_its_tokens_by_the_million() -> None:
    # 1,500 in at 2 and 400 out at 10 a million: .003 + .004.
    assert PRICE.cost(1500, 400) == pytest.approx(0.007)
    assert PRICE.cost(0, 0) == 0


def test_the_worst_case_is_a_token_a_byte_and_a_whole_answer() -> None:
    # 4,000 bytes and 1,024 tokens: .008 + .01024.
    assert PRICE.cost(4000, 1024) == pytest.approx(0.01824)


@given(st.text(max_size=200), COUNT, COUNT)
def test_no_call_costs_more_than_its_worst_case(text: str, bound: int, out: int) -> None:
    sent = text.encode()
    most = PRICE.cost(len(sent), bound)
    assert PRICE.cost(min(len(text), len(sent)), min(out, bound)) <= most
