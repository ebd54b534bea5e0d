"""The window over long JSON: however its bytes come in, the same is read at the same places."""

import io
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.errors import ReportError
from reviewdesk.reports import Source, read
from reviewdesk.reports.bytes.strict_json import MAX_ITEM, ImportTally, failing
from reviewdesk.reports.bytes.window import Window
from reviewdesk.reports.inspectai.transcript import KEEP, pick
from tests.helpers import SHARED, mostly_slow
from tests.reports.pieces import Pieces, PieceSource

FAIL = failing(PieceSource.of("a.json", b"", (1,)))

TOKENS = (
    *("0", "-0", "7", "1.5", "-12.75", "1e5", "2E-7", "-1.25e+10", "1e400", "123456789012345678"),
    *("true", "false", "null", "NaN", "Infinity", "-Infinity"),
    *('""', '"plain"', '"é\u2028😀"', r'"\n\t\"\\\/"', r'"\u00e9\u20AC"', r'"\ud83d\ude00"'),
    *(r'"\ud83d"', r'"\ud83dx\udc00"', '"1.5"', "{}", "[]", '{"a":1.5}', "[1.5,-2e1]"),
)


def _window(stream: BinaryIO) -> tuple[Window, ImportTally]:
    tally = ImportTally(lenient=True)
    return Window(stream, FAIL, tally), tally


def _walk(window: Window, where: str) -> Iterator[Any]:
    """Every step over a value, with the line it stands in."""
    start = window.peek()
    if start == "{":
        for key in window.members():
            yield key, window.line
            yield from _walk(window, f"{where}.{key}")
    elif start == "[":
        for index in window.elements():
            yield index, window.line
            yield from _walk(window, f"{where}[{index}]")
    else:
        yield where, window.value(where), window.line


def _halves(window: Window, where: str) -> Iterator[Any]:
    """Values stepped over, and others held, in turn."""
    for index in window.elements() if window.peek() == "[" else ():
        if index % 2:
            window.skim(where)
        else:
            yield window.value(where)
    yield window.skim(where) if window.peek() == "{" else None


READINGS: dict[str, Callable[[Window], Any]] = {
    "whole": lambda window: window.value("$"),
    "walked": lambda window: list(_walk(window, "$")),
    "skimmed": lambda window: window.skim("$"),
    "picked": lambda window: pick(window, {"k": KEEP, "n": {"k": KEEP}, "l": [KEEP]}, "$"),
    "in turn": lambda window: list(_halves(window, "$")),
}


def _read(data: bytes, sizes: Sequence[int], reading: str) -> tuple[Any, ...]:
    """What a reading gives: its values, what it counted, and where it ends or breaks off."""
    window, tally = _window(Pieces(data, sizes))
    try:
        found = READINGS[reading](window)
        end = window.peek(), window.line
    except ReportError as error:
        return (str(error),)
    return found, end, tally.nonfinite, tally.surrogates


def _around(token: str) -> Iterator[bytes]:
    """A token where values may stand, alone and between others."""
    forms = ["%s", " %s ", "[%s,%s]", '{"k":%s,"n":{"k" : %s},"l":[%s\n, %s]}', "[[%s],%s]\n%s"]
    for form in forms:
        yield (form % ((token,) * form.count("%s"))).encode()


@pytest.mark.parametrize("reading", mostly_slow(READINGS))
def test_a_token_may_be_cut_anywhere(reading: str) -> None:
    for token in TOKENS:
        for data in _around(token):
            whole = _read(data, (len(data),), reading)
            for cut in range(1, len(data)):
                assert _read(data, (cut, len(data)), reading) == whole, (data, cut)
            assert _read(data, (1,), reading) == whole, data


def test_a_number_is_whole_only_when_what_follows_has_been_seen() -> None:
    # cut behind its point, its exponent's letter or sign, a number reads as a shorter one
    for cut in range(1, 8):
        assert _window(Pieces(b"1.25e+3 ,", (cut, 9)))[0].value("$") == 1250.0
    # overflow by the digits seen so far is none: 1 and 400 zeros, e-400
    long = b"1" + b"0" * 400 + b"e-400"
    for cut in (310, 401, 402, 403):
        assert _window(Pieces(long, (cut, 999)))[0].value("$") == 1.0


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["\ud83d", "a\udc00b", "\\u12", "1.5e", "tru", "nul", "-", "\u2028\r"]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats()
    | st.sampled_from([0.1, 1e-300, -2.5e20, 100.0])
    | TEXTS
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(["k", "n", "l", "é", "a\\"]), inner, max_size=4)
    ),
    max_leaves=12,
)
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=6)


@given(VALUES, SIZES, st.sampled_from([None, 1]), st.booleans(), st.sampled_from(sorted(READINGS)))
def test_any_pieces_read_the_same(
    value: Any, sizes: list[int], indent: int | None, ascii_only: bool, reading: str
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    data = text.encode(errors="backslashreplace").replace(rb"\ud83d", b"x")
    assert _read(data, sizes, reading) == _read(data, (len(data) + 1,), reading)


@given(VALUES, SIZES, st.integers(0, 60), st.sampled_from(["", "}", ",", '"', "1.", "\\", "[1,]"]))
def test_any_pieces_break_off_at_the_same_place(value: Any, sizes: Any, cut: int, put: str) -> None:
    text = json.dumps({"k": [value, 1.5], "n": value}, indent=1)
    data = (text[:cut] + put + text[cut + 1 :]).encode()
    for reading in READINGS:
        assert _read(data, sizes, reading) == _read(data, (len(data) + 1,), reading)


@pytest.mark.slow
def test_a_long_run_of_letters_is_stepped_over_in_time() -> None:
    # base64 and hex hold whatever they end in back; that must not be copied again and again
    window, _ = _window(io.BytesIO(b'["' + b"0123456789abcdef" * (1 << 20) + b'", 1.5]'))
    assert window.skim("$") == [None, 1.5]


@pytest.mark.slow
def test_what_a_value_too_long_to_be_held_counts_is_counted_once() -> None:
    long = b'{"a": NaN, "s": "\\ud800", "x": "' + b"y" * MAX_ITEM + b'", "b": NaN}'
    window, tally = _window(io.BytesIO(long))
    assert window.skim("$") == {"a": None, "s": "\ufffd", "x": None, "b": None}
    assert (tally.nonfinite, tally.surrogates) == (2, 1)


def test_blanks_beyond_the_bound_are_an_error_however_they_come() -> None:
    data = b"[1," + b" " * (MAX_ITEM + 1) + b"2]"
    for sizes in ((len(data),), (1 << 18,)):
        window, _ = _window(Pieces(data, sizes))
        with pytest.raises(ReportError, match="8 MiB"):
            list(_walk(window, "$"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", sorted((SHARED / "formats").glob("[!b]*/*.json*")), ids=lambda path: path.name
)
def test_real_files_in_pieces_read_the_same(path: Path) -> None:
    chance = random.Random(path.name)  # noqa: S311 - a fixed sequence, not a secret
    data = path.read_bytes()
    whole = read(Source.from_bytes(path.name, data))
    expected = list(whole.verdicts()), whole.notes
    for most in (700, 120_000):
        sizes = [chance.randint(1, most) for _ in range(500)]
        report = read(PieceSource.of(path.name, data, sizes))
        assert (list(report.verdicts()), report.notes) == expected
