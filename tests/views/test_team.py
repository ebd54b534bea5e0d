"""What is said of several reviewers."""

from __future__ import annotations

import pytest

from reviewdesk.cli.plain import document_text
from reviewdesk.domain.labels.team import Disagreement, Opinion
from reviewdesk.domain.records import Truth
from reviewdesk.domain.verdict import Decision
from reviewdesk.views.team import chain_name, disagreements


def test_each_name_heads_its_column() -> None:
    at = "2025-01-31T12:00:00+00:00"
    opinions = (
        Opinion("ann", Truth.PASS, at, None),
        Opinion("ben-of-the-long-name", Truth.FAIL, at, None),
    )
    found = disagreements([Disagreement(1, "v1", "ab", Decision.PASS, 0.9, opinions, None)])
    heads, row = document_text(found).splitlines()[1:3]
    assert heads.split() == ["item", "ann", "ben-of-the-long-name", "panel", "truth"]
    assert row.index("pass") == heads.index("ann")
    assert row.index("fail") == heads.index("ben-of")


@pytest.mark.parametrize(
    ("reviewer", "name"),
    [
        ("ann", "ann on desk 223bd6b3"),
        ("@desk", "desk 223bd6b3 itself"),
        ("@agent", "agents on desk 223bd6b3"),
    ],
)
def test_a_chain_is_named_in_words(reviewer: str, name: str) -> None:
    assert chain_name(reviewer, "223bd6b3" + "0" * 24) == name
