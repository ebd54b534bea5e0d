"""Folding: nothing lost but the spaces at a break, no grapheme parted, no piece too wide."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from reviewdesk.app.paint.layout import _any_cuts, clusters, cuts, fitting, fitting_end, joined

ATOMS = ["a", "b", " ", "  ", ".", "(", "日", "本", "。", "「", "한", "글", "e\u0301", "क\u094dष"]
ATOMS += ["👍", "🇩🇪"]
TEXTS = st.lists(st.sampled_from(ATOMS), max_size=60).map("".join)


def pieces(text: str, first: int, rest: int | None = None) -> list[str]:
    return [text[a:b] for a, b in cuts(text, first, rest or first)]


@given(TEXTS, st.integers(2, 30), st.integers(2, 30))
def test_pieces_fit_and_only_spaces_are_left_out(text: str, first: int, rest: int) -> None:
    found = cuts(text, first, rest)
    at = 0
    for number, (start, end) in enumerate(found):
        assert text[at:start].strip(" ") == ""
        # The widest grapheme here, a flag or a conjunct, may be wider than two columns.
        room = rest if number else first
        assert cell_len(text[start:end]) <= max(room, 4)
        assert not joined(text, start)
        assert not joined(text, end)
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


def test_marks_stay_with_their_base_at_every_width() -> None:
    text = "e\u0301\u0302" * 10
    for width in range(1, 12):
        found = pieces(text, width)
        assert [cell_len(piece) for piece in found[:-1]] == [width] * (len(found) - 1)
        assert all(piece.startswith("e\u0301\u0302") for piece in found)


def test_arabic_and_hebrew_keep_their_logical_order() -> None:
    text = "العربية تكتب من اليمين إلى اليسار שלום עולם"
    assert " ".join(pieces(text, 10)) == text


def test_a_flag_is_two_letters_and_four_are_two_flags() -> None:
    text = "🇩🇪🇫🇷🇮"
    assert [text[a:b] for a, b, _ in clusters(text)] == ["🇩🇪", "🇫🇷", "🇮"]
    assert [at for at in range(1, 5) if not joined(text, at)] == [2, 4]


def test_what_is_joined() -> None:
    assert joined("\r\n", 1)
    assert joined("e\u0301", 1)
    assert joined("👩\u200d👩", 1)
    assert joined("👩\u200d👩", 2)
    assert joined("👍🏽", 1)
    # A conjunct: the virama ties the next consonant.
    assert joined("क\u094dष", 2)
    assert not joined("ab", 1)
    assert not joined("\n\u0301", 1)
    assert not joined("ab", 0)
    assert not joined("ab", 2)


@given(TEXTS, st.integers(0, 20))
def test_what_fits_is_whole_and_as_much_as_possible(text: str, width: int) -> None:
    kept = fitting(text, width)
    assert cell_len(text[:kept]) <= width
    assert not joined(text, kept)
    more = next((end for start, end, _ in clusters(text) if start == kept), None)
    assert more is None or cell_len(text[:more]) > width
    end = fitting_end(text, width)
    assert cell_len(text[len(text) - end :]) <= width
    assert not joined(text, len(text) - end)


@given(st.text(max_size=30))
def test_clusters_tile_any_text(text: str) -> None:
    spans = list(clusters(text))
    assert "".join(text[a:b] for a, b, _ in spans) == text
    assert all(
        unicodedata.category(text[a])[0] != "M" or a == 0 or text[a - 1] == "\n"
        for a, _, _ in spans
    )
