"""What a filter tells: the panel's answer, or that every verdict it keeps has a label."""

from __future__ import annotations

import pytest

from reviewdesk.domain.assessment.flags import SHORT
from reviewdesk.domain.query import words
from reviewdesk.domain.query.filter import parse_filter


def test_no_word_tells_the_panel_s_answer_but_the_hidden_ones() -> None:
    # Every word that can be typed: what it tells without the panel's answer is listed here, so a
    # new word is hidden until somebody decides otherwise.
    flags = [words.short(flag) for flag in SHORT]
    values = [f"{name}:{value}" for name, choices in words.CHOICES.items() for value in choices]
    named = [f"{name}:x" for name in words.NAMED]
    compared = [*(f"{name}<.5" for name in words.NUMBERS), *(f"{name}~x" for name in words.TEXTS)]
    typed = [*flags, *words.STATES, *words.PANEL, *values, *named, *compared]
    assert {text for text in typed if not parse_filter(text).hidden} == {
        *words.STATES,
        *(f"label:{label}" for label in ("none", "pass", "fail", "unsure", "disputed")),
        *("tag:x", "juror:x", "run:x", "id~x", "test~x"),
    }


@pytest.mark.parametrize(
    ("text", "decided"),
    [
        ("wrong", True),
        ("esc !mark wrong:fail|label:unsure", True),
        ("!label:none", True),
        ("((label:fail mark)|wrong) esc", True),
        ("", False),
        ("label:none", False),
        ("!wrong", False),
        ("!label:fail", False),
        ("wrong|mark", False),
        ("!(wrong)", False),
        ("tag:wrong esc", False),
    ],
)
def test_which_filters_keep_labelled_verdicts_only(text: str, decided: bool) -> None:
    assert parse_filter(text).decided is decided
