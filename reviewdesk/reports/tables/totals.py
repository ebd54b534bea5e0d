"""Leave out the last rows of a sheet, which sum it up or explain it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from reviewdesk.reports.bytes.strict_json import ImportTally
from reviewdesk.reports.tables.cells import TOTALS, is_answer, likely_number, with_decimal_point

_Row = TypeVar("_Row", bound=tuple[Any, Mapping[str, Any], str])

_TOTAL = re.compile(rf"\s*(?:{TOTALS})[^\w.%]*\Z", re.IGNORECASE)
_SUMMED = re.compile(rf"(?:.*\s)?(?:{TOTALS})\b", re.IGNORECASE)
_FOOTNOTE = re.compile(
    r"\s*(?:[*†‡^]|\(\d(?:\)|.* rows?\)\Z)|(?:notes?|source|legend|key|n\.?b\.?)\s*:)",
    re.IGNORECASE,
)


def without_totals(rows: Iterator[_Row], tally: ImportTally) -> Iterator[_Row]:
    """Yield rows without the last ones that sum up or explain a sheet, and note their number."""
    held: list[_Row] = []
    above: list[Any] = []
    for row in rows:
        cells = [one for key, one in row[1].items() if key != "@key"]
        first = next(filter(None, cells), None)
        if type(first) is str:
            sums = (_TOTAL if cells[0] else _SUMMED).match(first) and not row[2]
            explains = _FOOTNOTE.match(first)
            fewer = not row[2] and sum(map(bool, cells)) < sum(map(bool, above))
            if sums or explains or held or fewer:
                rest = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
                summed = all(map(is_answer, map(with_decimal_point, rest[1:])))
                sums = summed and (sums or (fewer and _looks_otherwise(cells, above)))
                alone = not rest[1:] and (explains or (held and " " in first))
                if sums or alone or (explains and row[2]):
                    held.append(row)
                    continue
        if held:
            yield from held
            held.clear()
        above = cells
        yield row
    if held:
        tally.notes.append(f"rows of totals and footnotes at the end are left out ({len(held)}x)")


def _looks_otherwise(cells: Sequence[Any], above: Sequence[Any]) -> bool:
    """Return True if a row has numbers below words or shares below numbers, and no texts."""
    pairs = [*zip(cells, above, strict=False)][1:]
    kinds = {(_kind(one), _kind(two)) for one, two in pairs}
    other = kinds & {("number", "word"), ("share", "word"), ("share", "number")}
    return bool(other) and ("", "text") in kinds


def _kind(cell: Any) -> str:
    if not cell or "%" in str(cell):
        return "share" if cell else ""
    if likely_number(with_decimal_point(cell)) is not None:
        return "number"
    return "word" if is_answer(cell) else "text"
