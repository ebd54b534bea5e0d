"""Find the names of a table's columns in its first records, and leave out its last rows of sums."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from reviewdesk.reports.bytes.strict_json import ImportTally
from reviewdesk.reports.tables.cells import (
    REASONS,
    TOTALS,
    USUAL,
    blank,
    is_answer,
    likely_number,
    roles_of,
)


def on_a_line(column: str) -> str:
    """Return the name of a column on one line; pandas writes names of two levels as a tuple."""
    if _TUPLE.match(column):
        return "_".join(re.findall(r"'([^']+)'", column))
    return " ".join(column.split())


_TUPLE = re.compile(r"\('[^']*'(?:, '[^']*')+\)\Z")


def judge_above(records: Sequence[Sequence[str]]) -> str:
    """Return the judge that a line above a header names, such as ``Judge: gpt-4o``, or ""."""
    for record in records:
        filled = [one for one in record if one]
        said = _KEY.match(filled[0]) if len(filled) == 1 else None
        key, value = said.groups() if said else (*filled, "", "")[:2]
        if value and "judge" in roles_of([key.strip("#: ")]):
            return value
    return ""


def section_of(record: Sequence[str]) -> str:
    """Return the judge that a line between rows names, or ""."""
    return judge_above([record]) if sum(map(bool, record)) < 3 else ""


_KEY = re.compile(r"#?\s*([^:=]{2,40}?)\s*[:=]\s*(\S.*)")


def is_header(record: Sequence[str], most: int) -> bool:
    """Return False for a title or a key with its value; the fullest record has ``most`` cells."""
    return sum(map(bool, record)) > (2 if most > 3 and record[0] else 1)


def column_names(start: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], int]:
    """Return the names of the columns, and how many of the first records they are made of.

    A second line of names has no first cell, or stands below names that recur, as pandas writes it.
    """
    top = named_apart(start[0])
    if _is_data(top, start[1:]):
        return tuple(str(number) for number in range(1, len(top) + 1)), 0
    if levels := _of_levels(start):
        return levels
    unnamed = not top[0] and len(start) > 1 and start[1][0] and not is_answer(start[1][0])
    plain = ("index" if "item" in top else "item", *top[1:]) if unnamed else top
    second, third = start[1:3] if len(start) > 2 else ((), ())
    below = [name for name in second if name]
    filled = [name for name in top if name]
    recur = len({*filled}) < len(filled)
    merged = "" in top[1:] or recur
    if len(below) < 2 or len(second) != len(top) or any(map(is_answer, below)):
        return plain, 1
    starts = not second[0] or (not top[0] and (recur or ("" in top[1:] and all(second))))
    below_names = merged or len({*below}) < len(below)
    if not (starts and below_names and third[0] and any(map(is_answer, third[1:]))):
        return plain, 1
    group = ""
    names: list[str] = []
    for name, sub in zip(top, second, strict=True):
        group = name or (group if sub else "")
        names.append("_".join(filter(None, (group, sub))) if merged else name or sub)
    names[0] = names[0] or "item"
    return tuple(names), 2


def _of_levels(start: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], int] | None:
    """Return the names that pandas wrote on several levels, and the number of their records."""
    for at, record in enumerate(start[2:4], 2):
        if record[0].startswith('{"ImportId"'):
            # Qualtrics writes its questions and ids there; its status says how a form came in.
            return tuple("form state" if one == "Status" else one for one in start[0]), at + 1
        ids = sum(map(bool, record))
        levels = [one[ids:] for one in start[:at]]
        whole = all(map(all, levels)) and all(record[:ids])
        recur = len({*levels[0]}) < len(levels[0]) and not any(map(is_answer, levels[0]))
        if whole and recur and {len(record)} == {*map(len, start[:at])}:
            return (*record[:ids], *map("_".join, zip(*levels, strict=True))), at + 1
    return None


def named_apart(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns; reasons under one name are named by the columns before them."""
    counts = Counter(names)
    again = {one for one in counts if counts[one] > 1 and one.casefold() in REASONS}
    return tuple(
        f"{names[at - 1]} {one}" if at and one in again else one for at, one in enumerate(names)
    )


def _is_data(top: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return True if the first record is not a header: its cells recur below, or are numbers."""
    filled = [(at, cell) for at, cell in enumerate(top) if cell]
    numbers = [cell for _, cell in filled if likely_number(cell) is not None]
    if tuple(top) in map(tuple, below) or not below or count_up(numbers):
        return False
    data = [one for at, one in filled if any(row[at : at + 1] == [one] for row in map(list, below))]
    sure = any(USUAL.vote(one) is not None for one in data)
    rest = roles_of(one for _, one in filled if one not in data)
    decimal = any("." in one for one in numbers)
    return not rest and (2 * len(data) > len(filled) or decimal or sure)


_DIGIT = re.compile(r"\d+")


def count_up(numbers: Sequence[str]) -> bool:
    return any(numbers == [*map(str, range(at, at + len(numbers)))] for at in (0, 1)) and bool(
        numbers
    )


_Row = TypeVar("_Row", bound=tuple[Any, Mapping[str, Any], str])

_TOTAL = re.compile(rf"(?:.*\s)?(?:{TOTALS})\b[^\w.%]*(?:\(.*\))?\s*\Z", re.IGNORECASE)
_FOOTNOTE = re.compile(
    r"\s*(?:[*†‡^]|\(\d(?:\)|.* rows?\)\Z)|(?:notes?|source|legend|key|n\.?b\.?)\s*:)",
    re.IGNORECASE,
)


def without_totals(rows: Iterator[_Row], tally: ImportTally) -> Iterator[_Row]:
    """Yield rows without the last ones that sum up or explain a sheet, and note their number."""
    held: list[_Row] = []
    above: list[Any] = []
    filled = 0
    for row in rows:
        cells = [*row[1].values()][next(iter(row[1]), "") == "@key" :]
        # The last rows have fewer cells than those above, or fill one with what they are.
        said = [*filter(None, cells)]
        first = said[0] if said else None
        now = len(said)
        named = type(first) is str and not first[-1].isdigit() and _TOTAL.match(first)
        if held or now < filled or row[2] or named:
            # A comma in a footnote makes two cells of it.
            cut = bool(row[2]) and _FOOTNOTE.match(str(first or ""))
            if cut or _sums_up(cells, above) or _explains(cells, above):
                held.append(row)
                continue
            yield from held
            held.clear()
        above = cells
        filled = now
        yield row
    if held:
        tally.notes.append(f"rows of totals and footnotes at the end are left out ({len(held)}x)")


def _sums_up(cells: Sequence[Any], above: Sequence[Any]) -> bool:
    """Return True if a row holds numbers that sum up those above, and does not name an item.

    Its name is a word for sums, or is unlike the names above while the texts are empty.
    """
    words = [one for one in cells if isinstance(one, str) and one.strip() and not is_answer(one)]
    label = next(iter(words), "")
    if len(words) > 1 or sum(map(bool, cells)) == bool(label):
        return False
    pairs = zip(cells[1:], above[1:], strict=False)
    texts = [mine for mine, one in pairs if _is_text(one)]
    unlike = not above or _shape(label) != _shape(above[0])
    return bool(_TOTAL.match(label)) or (unlike and bool(texts) and not any(texts))


def _explains(cells: Sequence[Any], above: Sequence[Any]) -> bool:
    """Return True if a row holds a footnote alone, which is unlike the cell above it."""
    filled = [(at, one) for at, one in enumerate(cells) if one not in (None, "")]
    if len(filled) != 1 or not isinstance(filled[0][1], str):
        return False
    at, text = filled[0]
    known = above[at] if at < len(above) else None
    return bool(_FOOTNOTE.match(text)) or (
        " " in text.strip() and not (blank(known) or _is_text(known))
    )


def _shape(cell: Any) -> str:
    return _DIGIT.sub("0", str(cell or "").strip())


def _is_text(cell: Any) -> bool:
    text = str(cell or "").strip()
    return (" " in text or len(text) > _LONGEST_NAME) and not is_answer(cell)


_LONGEST_NAME = 24
"""The most characters of a name without blanks; in some scripts a text has none."""
