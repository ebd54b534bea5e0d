"""Folding: nothing lost but the spaces at a break, no grapheme parted, no piece too wide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, split_graphemes

from reviewdesk.app.paint.styled import _any_cuts, cuts, fitting, fitting_end

ATOMS = ["a", "b", " ", "  ", ".", "(", "日", "本", "。", "「", "한", "글", "e\u0301"]
ATOMS += ["👍", "e\u0301\u0302"]
TEXTS = st.lists(st.sampled_from(ATOMS), max_size=60).map("".join)


def pieces(text: str, first: int, rest: int | None = None) -> list[str]:
    return [text[a:b] for a, b in cuts(text, first, rest or first)]


@given(TEXTS, st.integers(2, 30), st.integers(2, 30))
def test_pieces_fit_and_only_spaces_are_left_out(text: str, first: int, rest: int) -> None:
    found = cuts(text, first, rest)
    borders = {0, *(end for _, end, _ in split_graphemes(text)[0])}
    at = 0
    for number, (start, end) in enumerate(found):
        assert text[at:start].strip(" ") == ""
        room = rest if number else first
        assert cell_len(text[start:end]) <= room
        assert {start, end} <= borders
        at = end
    assert text[at:].strip(" ") == ""


@given(st.text("ab .", max_size=60), st.integers(1, 12), st.integers(1, 12))
def test_both_ways_of_folding_agree_on_plain_text(text: str, first: int, rest: int) -> None:
    if len(text) > first:
        assert cuts(text, first, rest) == _any_cuts(text, first, rest)


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one   two", 5, ["one", "two"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("    deep", 6, ["    de", "ep"]),
        # Four ideographs are eight cells; the space after "a" leaves the line all but empty.
        ("a 日本日本日本", 8, ["a 日本日", "本日本"]),
        # Hangul has spaces between words.
        ("한글 한글", 6, ["한글", "한글"]),
        ("日本", 1, ["日", "本"]),
        ("      ", 3, [""]),
        ("", 3, [""]),
    ],
)
def test_folds(text: str, width: int, expected: list[str]) -> None:
    assert pieces(text, width) == expected


@given(TEXTS, st.integers(0, 20))
def test_what_fits_is_whole_and_as_much_as_possible(text: str, width: int) -> None:
    kept = fitting(text, width)
    assert cell_len(text[:kept]) <= width
    more = next((end for start, end, _ in split_graphemes(text)[0] if start == kept), None)
    assert more is None or cell_len(text[:more]) > width
    end = fitting_end(text, width)
    assert cell_len(text[len(text) - end :]) <= width
