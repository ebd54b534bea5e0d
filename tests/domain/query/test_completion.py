import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from reviewdesk.domain.assessment.result import MEANINGS, SHORT, Flag
from reviewdesk.domain.query import words
from reviewdesk.domain.query.filter import (
    ORDERS,
    Completion,
    FilterError,
    Option,
    Vocabulary,
    complete,
    complete_order,
    condition,
    expand_filter,
    parse_filter,
    parse_order,
)

KNOWN = Vocabulary(
    tags=("late fee", "refund", "none", "a|b", "Wrong-Policy", 'quo"ted', "line\nbreak"),
    jurors=("gpt-4.1", "claude sonnet", "openai/gpt-4.1"),
    runs=("week-36", "week-37"),
    filters={"todo": "esc label:none", "late": 'tag:"late fee"'},
)


def texts(text: str, cursor: int | None = None) -> list[str]:
    found = complete(text, len(text) if cursor is None else cursor, KNOWN)
    return [option.text for option in found.options]


def test_an_empty_field_offers_every_beginning() -> None:
    found = texts("")
    assert [flag.rstrip("!") for flag in SHORT.values()] == found[: len(SHORT)]
    assert {f"{name}:" for name in (*words.CHOICES, *words.NAMED)} <= set(found)
    assert {f"{name}~" for name in words.TEXTS} <= set(found)
    assert {f"{name}{sign}" for name in words.NUMBERS for sign in words.OPERATORS} <= set(found)
    assert {*words.STATES, "@todo", "@late"} <= set(found)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("es", ["esc"]),
        ("t", ["trim", "tag:", "test~", "text~"]),
        ("mar", ["mark", "margin<", "margin<=", "margin=", "margin>=", "margin>"]),
        ("score<", ["score<", "score<="]),
        ("score<.6", []),
        ("label:", [f"label:{one}" for one in words.CHOICES["label"]]),
        ("warn:s", ["warn:same-family"]),
        ("tag:", ["tag:none", 'tag:"late fee"', "tag:refund", 'tag:"none"', 'tag:"a|b"',
                  "tag:Wrong-Policy"]),
        ("tag:n", ["tag:none", 'tag:"none"', "tag:refund", "tag:Wrong-Policy"]),
        # Those that begin with it stand before those that hold it; an open quote is no obstacle.
        ("juror:gpt", ["juror:gpt-4.1", "juror:openai/gpt-4.1"]),
        ('juror:"claude s', ['juror:"claude sonnet"']),
        ("run:36", ["run:week-36"]),
        ("flip:week", ["flip:week-36", "flip:week-37"]),
        ("@t", ["@todo"]),
        ("@x", []),
        ("!@t", ["@todo"]),
        ("esc|@t", ["@todo"]),
        ("esc !la", ["label:"]),
        ('test~"a b" ki', ["kin"]),
        ('test~"a es', []),
        # In parentheses as outside of them; behind a closed group a space must come first.
        ("(es", ["esc"]),
        ("(mark (@t", ["@todo"]),
        ("(@t|esc", ["esc"]),
        ("(esc)", []),
        ("(esc) ki", ["kin"]),
        ("test~f(es", []),
    ],
)  # fmt: skip
def test_what_may_come_next(text: str, options: list[str]) -> None:
    assert texts(text) == options


@pytest.mark.parametrize(
    ("text", "cursor", "span"),
    [
        ("", 0, (0, 0)),
        ("esc", 3, (0, 3)),
        # The whole word is replaced, wherever in it the cursor stands.
        ("esc label:none bias", 6, (4, 14)),
        ("!esc", 4, (1, 4)),
        ("!", 1, (1, 1)),
        ("esc|!la|bias", 7, (5, 7)),
        ('tag:"late fee"|esc', 14, (0, 14)),
        ("(esc !(la) bias)", 9, (7, 9)),
        ("!(", 2, (2, 2)),
        ("test~f(x)", 9, (0, 9)),
        # An open quote has swallowed what follows, which is kept.
        ('tag:"la esc label:none', 7, (0, 7)),
        ("esc", 99, (0, 3)),
        ("esc", -1, (0, 3)),
    ],
)
def test_what_an_option_replaces(text: str, cursor: int, span: tuple[int, int]) -> None:
    found = complete(text, cursor, KNOWN)
    assert (found.start, found.end) == span


def test_options_say_what_they_mean_and_have_an_end() -> None:
    assert complete("spl", 3, KNOWN).options == (Option("split", MEANINGS[Flag.SPLIT]),)
    assert complete("label:n", 7, KNOWN).options == (Option("label:none", "no label"),)
    assert complete("@l", 2, KNOWN).options == (Option("@late", 'tag:"late fee"'),)
    assert complete("score<=", 7, KNOWN).options[0].note == "the panel's score: at most"
    assert all(option.note for option in complete("", 0, KNOWN).options)
    many = Vocabulary(tags=tuple(f"t{number}" for number in range(5000)))
    assert len(complete("tag:t", 5, many).options) == 100


PIECES = st.sampled_from(
    [*'!|"~:<=>@-. ', "es", "label", "none", "score", "tag", "late", "run", "we", "juror", "to"]
)
NAMES = st.text(min_size=1, max_size=6) | st.sampled_from(["none", "a b", "a|b", "!x"])


@given(
    st.one_of(st.text(max_size=20), st.lists(PIECES, max_size=8).map("".join)),
    st.integers(-2, 25),
    st.lists(NAMES, max_size=4),
)
def test_every_option_can_be_typed(text: str, cursor: int, names: list[str]) -> None:
    known = Vocabulary(tuple(names), tuple(names), tuple(names), KNOWN.filters)
    found = complete(text, cursor, known)
    assert 0 <= found.start <= max(0, min(cursor, len(text))) <= found.end <= len(text)
    for option in found.options:
        event("offered")
        typed = option.text + _value(option.text)
        assert expand_filter(typed, KNOWN.filters)
        if "@" not in typed[:1]:
            (term,) = parse_filter(typed).terms()
            assert not term.negated
            if term.kind in {"tag", "juror", "run", "flip"} and option.text[-1] != ":":
                assert term.value in names
    named = [option.text.partition(":")[2] for option in found.options]
    assert not any('"' in name[1:-1] for name in named)


def _value(text: str) -> str:
    """What a beginning waits for."""
    if text.endswith(":"):
        return next(iter(words.CHOICES.get(text[:-1], ["x"])))
    return ".5" if text[-1] in "<=>~" else ""


def test_a_completed_filter_can_be_read() -> None:
    text = ""
    for typed, choice in (("es", "esc"), (" !la", "label:"), ("n", "label:none"), ("|ta", "tag:"),
                          ("late", 'tag:"late fee"'), (" @to", "@todo")):  # fmt: skip
        text += typed
        found = complete(text, len(text), KNOWN)
        assert choice in [option.text for option in found.options]
        text = text[: found.start] + choice + text[found.end :]
    assert text == 'esc !label:none|tag:"late fee" @todo'
    assert expand_filter(text, KNOWN.filters) == 'esc !label:none|tag:"late fee" (esc label:none)'


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", list(ORDERS)),
        ("-", [f"-{name}" for name in ORDERS]),
        ("s", ["score"]),
        ("-MA", ["-margin"]),
        ("x", []),
    ],
)
def test_orders(text: str, options: list[str]) -> None:
    found = complete_order(text, len(text))
    assert (found.start, found.end) == (0, len(text))
    assert [option.text for option in found.options] == options
    for option in found.options:
        assert option.note
        parse_order(option.text)


def test_an_order_is_completed_from_the_cursor() -> None:
    assert complete_order("score", 1) == Completion(0, 5, complete_order("s", 1).options)


def test_every_flag_has_a_meaning_and_no_two_words_are_one() -> None:
    assert MEANINGS.keys() == SHORT.keys() == set(Flag)
    assert len(set(SHORT.values())) == len(SHORT)
    assert words.HEADINGS.keys() == words.CHOICES.keys()
    # The short name of a flag hides no state, and all of them can be read.
    assert not {words.short(flag) for flag in Flag} & words.STATES.keys()
    with pytest.raises(FilterError):
        parse_filter("untagged")


@given(st.sampled_from(["tag", "juror", "run", "flip"]), st.text(max_size=12))
def test_a_condition_says_what_it_was_made_from(name: str, value: str) -> None:
    made = condition(name, value)
    if made is None:
        assert '"' in value or not value.isprintable() or not value
    else:
        (term,) = parse_filter(made).terms()
        assert (term.kind, term.value) == (name, value)
