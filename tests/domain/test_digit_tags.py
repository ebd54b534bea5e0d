"""Which tags the digits give."""

from __future__ import annotations

from reviewdesk.domain.tags import DIGITS, USUAL, digit_tags, normal_tag

MANY = tuple(f"tag-{i}" for i in range(20))


def test_a_desk_begins_with_the_usual_tags_and_leaves_digits_free() -> None:
    assert digit_tags((), (), ()) == USUAL
    assert digit_tags((), (), ("own", USUAL[4])) == (*USUAL, "own")
    assert len(USUAL) < DIGITS


def test_configured_tags_begin_a_desk_in_the_place_of_usual_ones() -> None:
    assert digit_tags((), ("a", "b"), ()) == ("a", "b")
    assert digit_tags((), ("a", "b"), ("b", "c")) == ("a", "b", "c")
    assert digit_tags((), MANY, ("c",)) == MANY[:DIGITS]


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


def test_the_usual_tags_are_tags() -> None:
    assert tuple(map(normal_tag, USUAL)) == USUAL
