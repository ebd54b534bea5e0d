import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.safetext import hidden_count, show, show_line, strip_controls

HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x00\x07\x1b\r\n\t\x7f\x85\x9b\u200d\u200c\u202e\u2028\ufe0f\u00ad"),
        st.characters(categories=["Cc", "Cf", "Cs", "Cn"]),
    )
)


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("plain [bold]text[/]", "plain [bold]text[/]"),
        ("a\tb", "a    b"),
        ("a\r\nb\nc", "a\nb\nc"),
        ("a\rb", "a␍b"),
        ("\x1b[31m\x00\x7f", "␛[31m␀␡"),
        ("\x85\x9b", "<U+0085><U+009B>"),
        ("a\u202eb\u2066c", "a<U+202E>b<U+2066>c"),
        ("zero\u200bwidth\ufeff", "zero<U+200B>width<U+FEFF>"),
        ("\u2028\u2029", "<U+2028><U+2029>"),
        ("\U000e0041", "<U+E0041>"),
        ("\ud800 \ufdd0 \U0001ffff \u0378", "<U+D800> <U+FDD0> <U+1FFFF> <U+0378>"),
        ("soft\u00adhyphen", "soft<U+00AD>hyphen"),
        ("\u3164\u115f", "<U+3164><U+115F>"),
        ("Grüße, naïve café — 日本語 한국어 привет", "Grüße, naïve café — 日本語 한국어 привет"),
    ],
)
def test_show(given_text: str, shown: str) -> None:
    assert show(given_text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d🔬",  # woman scientist
        "🏳\ufe0f\u200d🌈",  # the selector stands between the flag and the joiner
        "👨🏽\u200d🚀",  # a skin tone before the joiner
        "❤\ufe0f 1\ufe0f⃣",
        "می\u200cخواهم",  # Persian separates the prefix by a non-joiner
        "क्\u200dष",  # Devanagari half form
        "ന്\u200d",  # Malayalam, at the end of a word after the virama
    ],
)
def test_joiners_stay_where_writing_needs_them(text: str) -> None:
    assert show(text) == text
    assert hidden_count(text) == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pass\u200dword", "pass<U+200D>word"),
        ("a\u200cb", "a<U+200C>b"),
        ("👩\u200d", "👩<U+200D>"),
        ("x\ufe0f", "x<U+FE0F>"),
        ("a\U000e0100\U000e0101", "a<U+E0100><U+E0101>"),
        ("😀\U000e0100", "😀<U+E0100>"),
        ("\u200d", "<U+200D>"),
    ],
)
def test_joiners_that_hide_something_are_shown(text: str, shown: str) -> None:
    assert show(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("e" + 8 * "\u0301" + "x", "e" + 8 * "\u0301" + "x"),
        ("e" + 60 * "\u0301" + "x", "e" + 8 * "\u0301" + "<52 more marks>x"),
        # Enclosing, Cyrillic, kana, Devanagari and Arabic marks, alone at the start, and mixed.
        (9 * "\u20dd", 8 * "\u20dd" + "<1 more marks>"),
        ("б" + 10 * "\u0483", "б" + 8 * "\u0483" + "<2 more marks>"),
        ("か" + 10 * "\u3099", "か" + 8 * "\u3099" + "<2 more marks>"),
        ("क" + 10 * "\u0941", "क" + 8 * "\u0941" + "<2 more marks>"),
        ("ب" + 5 * "\u064b\u0301", "ب" + 4 * "\u064b\u0301" + "<2 more marks>"),
        # A joiner that is kept does not begin a new character; jamo pile up on their consonant.
        ("क" + 5 * "\u094d\u200d", "क" + 4 * "\u094d\u200d" + "<2 more marks>"),
        ("\u1112" + 10 * "\u1161", "\u1112" + 8 * "\u1161" + "<2 more marks>"),
    ],
)
def test_marks_are_capped_for_each_character(text: str, shown: str) -> None:
    assert show(text) == shown
    beyond = shown.partition("<")[2].partition(" ")[0]
    assert hidden_count(text) == int(beyond or 0)
    # The second layer, for what is typed or pasted into a field, drops them.
    assert strip_controls(text) == re.sub("<.*>", "", shown)


def test_length_is_capped_the_rest_counted_and_one_line_stays_one() -> None:
    assert show("x" * 12, limit=10) == "xxxxxxxxxx… 2 more"
    assert show("x" * 10, limit=10) == "x" * 10
    assert show("abc\r\nde", limit=4) == "abc… 4 more"
    assert show_line("x" * 12, limit=10) == "xxxxxxxxxx… 2 more"
    assert len(show("y" * 1_000_000)) < 20_050
    assert show_line("a\r\nb\nc\u2028d\x0be") == "a⏎b⏎c<U+2028>d␋e"


def test_hidden_counts_what_show_replaces() -> None:
    # ESC, the bidi override and the lone carriage return; neither tab nor line breaks
    assert hidden_count("\x1b a\tb\r\nc\n\u202e \r") == 3
    assert hidden_count("nothing here\n") == 0


def test_strip_controls_leaves_print() -> None:
    assert strip_controls("a\x1b[0m\n\u202eb\x9bc\ud800") == "a[0mbc"


@given(HOSTILE)
def test_nothing_hidden_survives(text: str) -> None:
    shown = show(text)
    for char in shown:
        assert char == "\n" or unicodedata.category(char) not in ("Cc", "Cs", "Cn", "Zl", "Zp")
        assert char in "\u200c\u200d" or unicodedata.category(char) != "Cf"
    assert len(show_line(text).splitlines()) <= 1
    shown.encode()


@given(HOSTILE)
def test_showing_twice_changes_nothing(text: str) -> None:
    assert show(show(text)) == show(text)
    assert hidden_count(show(text)) == 0


@given(HOSTILE)
def test_line_breaks_are_kept(text: str) -> None:
    assert show(text).count("\n") == text.count("\n")


@given(HOSTILE, st.integers(0, 30))
def test_the_cap_bounds_the_work(text: str, limit: int) -> None:
    # a character becomes at most the ten of <U+10FFFF>
    assert len(show(text, limit)) <= 10 * limit + len("… 1000000 more")


@given(HOSTILE)
def test_nothing_is_hidden_only_if_nothing_is_counted(text: str) -> None:
    changed = show(text).replace("    ", "\t") != text.replace("\r\n", "\n").replace("    ", "\t")
    assert (hidden_count(text) > 0) == changed


@given(HOSTILE)
def test_a_stripped_line_holds_no_control(text: str) -> None:
    assert all(unicodedata.category(char) not in ("Cc", "Cs") for char in strip_controls(text))
