from __future__ import annotations

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from reviewdesk.domain.flags import SHORT, Flag
from reviewdesk.domain.queue import (
    MIXED,
    ORDERS,
    Filter,
    FilterError,
    Term,
    hidden_order,
    parse_filter,
    parse_order,
)
from reviewdesk.errors import UsageError


def _term(text: str) -> Term:
    ((term,),) = parse_filter(text).groups
    return term


@pytest.mark.parametrize("text", ["", " ", "    "])
def test_an_empty_filter_keeps_everything(text: str) -> None:
    assert parse_filter(text) == Filter(())


@pytest.mark.parametrize("flag", list(Flag))
def test_a_flag_by_any_of_its_names(flag: Flag) -> None:
    expected = Term("flag", flag.label, ":", str(flag.value), negated=False)
    short = SHORT[flag].rstrip("!")
    for name in (flag.label, flag.label.upper(), flag.label.replace("_", "-"), short):
        assert _term(name) == expected


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("label", ("none", "pass", "fail", "unsure", "disputed")),
        ("band", ("high", "medium", "low", "none")),
        ("decision", ("pass", "fail", "inconclusive", "error", "none")),
        ("warn", ("any", "bias", "same-family")),
    ],
)
def test_facts(name: str, values: tuple[str, ...]) -> None:
    for value in values:
        expected = Term("choice", name, ":", value, negated=False)
        assert _term(f"{name}:{value}") == expected
        assert _term(f"{name}:{value.upper()}") == expected
        assert _term(f'{name}:"{value}"') == expected


@pytest.mark.parametrize("name", ["score", "agreement", "margin"])
@pytest.mark.parametrize("op", ["<", "<=", "=", ">=", ">"])
def test_comparisons(name: str, op: str) -> None:
    for text, value in ((".6", 0.6), ("-2.5", -2.5), ("1", 1.0), ("1e-3", 0.001)):
        found = _term(f"{name}{op}{text}")
        assert (found.kind, found.name, found.op) == ("number", name, op)
        assert float(found.value) == value


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("test~deploy", "test", "deploy"),
        ("id~V-7", "id", "V-7"),
        ('test~"release notes"', "test", "release notes"),
        ('test~"a|b"', "test", "a|b"),
        # What follows the first ~ is text, whatever it looks like.
        ("test~a~b", "test", "a~b"),
        ("id~score<.6", "id", "score<.6"),
        ("id~a:b", "id", "a:b"),
        ("id~!x", "id", "!x"),
    ],
)
def test_matches(text: str, name: str, value: str) -> None:
    assert _term(text) == Term("text", name, "~", value, negated=False)


def test_space_is_and_bar_is_or_bang_is_not() -> None:
    found = parse_filter('  esc  !label:none|score<.6   test~"a b"|!id~x ')
    shape = [[(term.name, term.negated) for term in group] for group in found.groups]
    assert shape == [
        [("escalated", False)],
        [("label", True), ("score", False)],
        [("test", False), ("id", True)],
    ]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("", False),
        ("id~a test~b label:none", False),
        ("!label:pass|id~x", False),
        ("esc", True),
        ("score>.5", True),
        ("band:low", True),
        ("decision:pass", True),
        ("warn:any", True),
        # One hidden fact among open ones is enough.
        ("label:none id~a|!split", True),
    ],
)
def test_which_filters_a_blind_session_hides(text: str, hidden: bool) -> None:
    assert parse_filter(text).hidden is hidden


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        # Columns count from 0; under each, the word that is wrong.
        ("nope", 0, "no flag 'nope'"),
        ("esc nope", 4, "no flag 'nope'"),
        ("esc   nope", 6, "no flag 'nope'"),
        ("!nope", 1, "no flag 'nope'"),
        ("esc|nope", 4, "no flag 'nope'"),
        ("esc !split|!nope", 12, "no flag 'nope'"),
        ("!!esc", 1, "no flag '!esc'"),
        ('"esc"', 0, "no flag"),
        ("colour:red", 0, "no fact 'colour'"),
        ("esc !colour:red", 5, "no fact 'colour'"),
        ("Label:none", 0, "no fact 'Label'"),
        ("label:", 6, "no label ''"),
        ("label:maybe", 6, "no label 'maybe'"),
        ("esc band:lowest", 9, "no band 'lowest'"),
        ("!warn:all", 6, "no warn 'all'"),
        ("name~x", 0, "no flag 'name~x'"),
        ("id<3", 0, "'id' is not a number to compare"),
        ("esc <3", 4, "'' is not a number to compare"),
        ("score<", 6, "'' is not a number"),
        ("score<high", 6, "'high' is not a number"),
        ("esc|!score>=high", 12, "'high' is not a number"),
        ("score<<.6", 6, "'<.6' is not a number"),
        ("score<nan", 6, "'nan' is not a finite number"),
        ("margin>inf", 7, "'inf' is not a finite number"),
        ("margin>1e999", 7, "'1e999' is not a finite number"),
        ("!", 1, "a condition is missing"),
        ("|", 0, "a condition is missing"),
        ("esc|", 4, "a condition is missing"),
        ("esc||split", 4, "a condition is missing"),
        ("esc ! split", 5, "a condition is missing"),
        ('test~"a b', 5, "a quote is not closed"),
        ('test~"a" id~"b', 12, "a quote is not closed"),
    ],
)
def test_errors_point_at_their_column(text: str, column: int, words: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(text)
    assert caught.value.column == column
    assert words in caught.value.message
    # For a person, columns count from 1.
    assert caught.value.message.startswith(f"filter, column {column + 1}: ")


PIECES = st.sampled_from(
    [*'!|"~:<=>- \t\x00é٣', "esc", "split", "label", "none", "band", "score", ".6", "nan", "test"]
)
LANGUAGE = st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join))


@given(LANGUAGE)
def test_nothing_but_a_filter_error_is_ever_raised(text: str) -> None:
    column, found = 0, Filter(())
    try:
        found = parse_filter(text)
    except FilterError as error:
        column = error.column
        event("refused")
    else:
        event("read")
        assert bool(found.groups) == bool(text.strip(" "))
    assert 0 <= column <= len(text)
    assert all(found.groups)


WORDS = st.sampled_from(
    ["esc", "!split", "label:none", "!band:low", "score<=.6", "test~deploy", "esc|!kin", 'id~"a b"']
)


@given(st.lists(WORDS, max_size=6))
def test_a_filter_is_its_words_one_by_one(words: list[str]) -> None:
    together = parse_filter("  ".join(words)).groups
    assert together == tuple(parse_filter(word).groups[0] for word in words)


@pytest.mark.parametrize("name", [*ORDERS, MIXED])
def test_orders_and_their_descent(name: str) -> None:
    assert parse_order(name) == (name, False)
    assert parse_order(f"-{name}") == (name, True)


@pytest.mark.parametrize("order", ["", "-", "--id", "Score", "scores", " id"])
def test_no_such_order(order: str) -> None:
    with pytest.raises(UsageError, match="no order"):
        parse_order(order)


def test_which_orders_a_blind_session_hides() -> None:
    hidden = {name for name in (*ORDERS, MIXED) if hidden_order(name)}
    assert hidden == {"score", "agreement", "margin", "pivotal"}
    assert {name for name in hidden if hidden_order(f"-{name}")} == hidden
