"""Tag names: one spelling for what was meant, a sentence for what cannot be a tag."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.query.filter import parse_filter
from reviewdesk.domain.safetext import hidden_count
from reviewdesk.domain.tags import (
    DIGITS,
    USUAL,
    digit_tags,
    normal_tag,
    normal_tags,
    split_tags,
    usable_tags,
)
from reviewdesk.errors import UsageError


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("tone", "tone"),
        ("  Wrong Policy ", "wrong-policy"),
        ("wrong \t\n policy", "wrong-policy"),
        ("TONE", "tone"),
        ("Über", "über"),
        # An accent of its own and one that is part of the letter look the same.
        ("cafe\u0301", "caf\u00e9"), ("a\u00a0b", "a-b"), ("p0!", "p0!"), ("a:b=1", "a:b=1"),
        ("x" * 40, "x" * 40),
        ("  " + "x" * 40 + "  ", "x" * 40),
        # Forty after the run of spaces became one sign.
        ("x" * 20 + " " * 30 + "y" * 19, "x" * 20 + "-" + "y" * 19),
    ],
)  # fmt: skip
def test_one_spelling(text: str, tag: str) -> None:
    assert normal_tag(text) == tag


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        (" \t ", "empty"),
        ("x" * 41, "has 41 characters"),
        ("a,b", "contains a comma"), ('a"b', 'contains "'), ("a|b", "contains |"),
        ("!a", "starts with !"), (" !a", "starts with !"), ("a\x1b[31mb", "hidden"),
        ("a\x00b", "hidden"), ("a\x1cb", "hidden"), ("a\u202eb", "hidden"), ("a\u200bb", "hidden"),
        ("a\u2028b", "hidden"), ("a\u00adb", "hidden"), ("a\ud800b", "hidden"),
    ],
)  # fmt: skip
def test_what_is_no_tag_is_told_in_a_line(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("|", r"\|")) as caught:
        normal_tag(text)
    assert caught.value.hint
    assert hidden_count(str(caught.value)) == 0


def test_commas_separate_spaces_join_and_no_endless_tag_is_quoted_whole() -> None:
    with pytest.raises(UsageError, match="has 100000 characters") as caught:
        normal_tag("x" * 100_000)
    assert len(str(caught.value)) < 200
    assert split_tags("a, b c") == ("a", "b-c")
    assert split_tags(" B ,, a,b, ") == ("b", "a")
    assert split_tags("") == split_tags(" , ") == ()
    with pytest.raises(UsageError, match="starts with !"):
        split_tags("a, !b")


def test_several_tags_keep_their_order_and_a_files_are_taken_as_far_as_they_go() -> None:
    assert normal_tags(["Tone", "policy", " tone"]) == ("tone", "policy")
    with pytest.raises(UsageError, match="comma"):
        normal_tags(["tone", "a,b"])
    assert usable_tags(["Tone", "a,b", "x" * 41, "", "tone", "wrong policy"]) == (
        "tone",
        "wrong-policy",
    )


@given(st.text(max_size=45))
def test_a_tag_is_its_own_spelling(text: str) -> None:
    for tag in usable_tags([text]):
        assert normal_tag(tag) == tag
        assert split_tags(tag) == (tag,)
        assert 0 < len(tag) <= 40
        assert hidden_count(tag) == 0
        assert not any(char.isspace() for char in tag)


@given(st.text(alphabet='ab !|"=,-', min_size=1, max_size=6))
def test_a_filter_reads_a_tag_as_one_word(text: str) -> None:
    # Any text may stand behind ~, so what the words of a filter are is all that is asked.
    for tag in usable_tags([text]):
        (term,) = parse_filter(f"id~{tag}").terms()
        assert term.value == tag


MANY = tuple(f"tag-{i}" for i in range(20))


def test_a_desk_begins_with_the_usual_tags_or_with_the_configured_ones() -> None:
    assert digit_tags((), (), ()) == USUAL
    assert digit_tags((), (), ("own", USUAL[4])) == (*USUAL, "own")
    assert len(USUAL) < DIGITS
    assert digit_tags((), ("a", "b"), ()) == ("a", "b")
    assert digit_tags((), ("a", "b"), ("b", "c")) == ("a", "b", "c")
    assert digit_tags((), MANY, ("c",)) == MANY[:DIGITS]
    assert tuple(map(normal_tag, USUAL)) == USUAL


def test_no_digit_changes_its_meaning_and_a_new_tag_takes_the_next_free_one() -> None:
    places = digit_tags((), (), ())
    for new in ("one", "two", "three", "four"):
        # However it is used, and whatever is configured meanwhile.
        after = digit_tags(places, (), (new, *reversed(places)))
        assert after[: len(places)] == places
        assert after == (*places, new)[:DIGITS]
        places = after
    assert places == (*USUAL, "one", "two", "three")
    assert digit_tags(("a", "b"), ("x", "b"), ("c",)) == ("a", "b", "x", "c")
