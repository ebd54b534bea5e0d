"""Pages: together they are the text, none is too long, and they end where a reader pauses."""

from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.app.paint.layout import PAGE, joined, page_count, part

CHUNKS = ["word ", "x" * 500, "\n", "\r\n", "日本語", "e\u0301" * 40, "🇩🇪" * 30, " ", "y" * 3000]
LONG = st.lists(st.tuples(st.sampled_from(CHUNKS), st.integers(1, 60)), max_size=12).map(
    lambda runs: "".join(chunk * count for chunk, count in runs)
)


@given(LONG)
def test_the_pages_together_are_the_text(text: str) -> None:
    parts = [part(text, page) for page in range(page_count(text))]
    assert "".join(text[p.start : p.end] for p in parts) == text
    assert [p.number for p in parts] == list(range(1, len(parts) + 1))
    for found in parts:
        assert found.of == len(parts)
        assert 0 < found.end - found.start <= PAGE or text == ""
        assert not joined(text, found.end)
    # Nothing is cut that fits on one page.
    assert (len(parts) == 1) == (len(text) <= PAGE)


def test_a_page_beyond_the_text_is_its_last() -> None:
    text = "a" * (PAGE + 1)
    assert part(text, 7) == part(text, 1)
    assert part(text, -1).number == 1
    assert part("short", 3).of == 1


def test_a_page_ends_at_a_line_before_a_word_before_anything() -> None:
    # The line break is 1,000 characters before the limit and a space stands after it.
    text = "a" * (PAGE - 1000) + "\n" + "b" * 900 + " " + "c" * 5000
    assert part(text, 0).end == PAGE - 1000 + 1
    text = text.replace("\n", "a")
    assert part(text, 0).end == PAGE - 1000 + 1 + 900 + 1
    text = text.replace(" ", "b")
    assert part(text, 0).end == PAGE


def test_a_line_break_far_away_is_not_waited_for() -> None:
    text = "a" * 100 + "\n" + "b" * PAGE
    assert part(text, 0).end == PAGE


def test_a_pair_of_carriage_return_and_line_feed_stays_whole() -> None:
    text = "a" * (PAGE - 1) + "\r\n" + "b" * 10
    assert part(text, 0).end == PAGE - 1


def test_one_grapheme_of_more_than_a_page_is_cut_all_the_same() -> None:
    text = "e" + "\u0301" * (2 * PAGE)
    assert page_count(text) == 3
