"""Masks and orders against a slow reference that looks at one verdict at a time."""

from array import array
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.labels.sampling import TRUTHS
from reviewdesk.domain.query import places
from reviewdesk.domain.query.filter import Filter, Nested, Part, Term, parse_filter
from reviewdesk.domain.query.matching import RunColumns, columns_of, mask_of, ordered
from reviewdesk.domain.query.words import CHOICES, CODES, NOT_TOLD, NUMBERS, ORDERS, TYPES

Row = dict[str, Any]
FIRST = 11
"""The key of the first verdict."""

NUMBER = st.none() | st.sampled_from([0.0, 0.25, 0.5, 0.5 + 1e-12, 0.75, 1.0, -0.5])


ROW = st.fixed_dictionaries(
    dict.fromkeys(sorted(NUMBERS), NUMBER)
    | {name: st.sampled_from([None, *CODES[name]]) for name in CODES}
    | {
        "flags": st.sets(st.sampled_from(list(Flag))).map(lambda flags: int(sum(flags))),
        "unanimous_votes": st.booleans(),
        "marked": st.booleans(),
    }
)
RUNS = st.lists(ROW, max_size=12).flatmap(
    lambda rows: st.tuples(
        st.just(rows), st.permutations(range(len(rows))), st.permutations(range(len(rows)))
    )
)
COMPARED = st.builds(
    "{}{}{}".format,
    st.sampled_from(sorted(NUMBERS)),
    st.sampled_from(["<", "<=", "=", ">=", ">"]),
    st.sampled_from(["0", ".25", ".5", ".75"]),
)
CHOSEN = st.sampled_from(
    [
        f"{name}:{value}"
        for name in ("label", "band", "decision", "wrong", "warn")
        for value in CHOICES[name]
    ]
)
WORDS = st.sampled_from(["esc", "pivotal", "split", "wrong", "unanimous_votes", "mark"])
LEAF = st.builds("{}{}".format, st.sampled_from(["", "!"]), COMPARED | CHOSEN | WORDS)
FILTERS = st.recursive(
    LEAF,
    lambda inner: st.builds(
        "{}({})".format,
        st.sampled_from(["", "!"]),
        st.lists(st.lists(inner, min_size=1, max_size=3).map("|".join), min_size=1, max_size=3)
        .map(" ".join),
    ),
    max_leaves=8,
)  # fmt: skip


def columns(rows: list[Row], draw: Iterable[int], mix: list[int]) -> RunColumns:
    """The columns as the desk reads them."""
    found = RunColumns(1, FIRST, len(rows))
    for name in TYPES.keys() - {"draw", "mix", "id", "truth"}:
        codes = CODES.get(name)
        missing = float("inf") if name in NUMBERS else -1
        said = [row[name] for row in rows]
        values = [v if codes is None or v is None else codes.index(v) for v in said]
        found.add(name, array(TYPES[name], [missing if v is None else v for v in values]))
    found.add("draw", array("i", draw))
    found.add("mix", array("i", mix))
    found.add("id", array("i", reversed(range(len(rows)))))
    told = [None if row["truth"] == NOT_TOLD else row["truth"] for row in rows]
    found.add_labels(
        bytearray(TRUTHS.index(truth) for truth in told),
        (FIRST + place for place, row in enumerate(rows) if row["truth"] == NOT_TOLD),
    )
    return found


def holds(row: Row, term: Term) -> bool:
    """Whether a term, as if it were not negated, holds of one verdict."""
    if term.kind == "number":
        value, number, slack = row[term.name], float(term.value), 1e-9
        compared: dict[str, Callable[[float], bool]] = {
            "<": lambda v: v < number - slack,
            "<=": lambda v: v <= number + slack,
            "=": lambda v: abs(v - number) <= slack,
            ">=": lambda v: v >= number - slack,
            ">": lambda v: v > number + slack,
        }
        return value is not None and compared[term.op](value)
    if term.kind == "flag":
        return bool(row["flags"] & int(term.value))
    if term.name == "wrong":
        pairs = {("pass", "fail"), ("fail", "pass")}
        pair = (row["decision"], row["truth"])
        return pair in pairs and term.value in {"", row["decision"]}
    if term.name == "warn":
        bits = {"bias": Flag.BIAS_WARNING, "same-family": Flag.SAME_FAMILY}
        return bool(row["flags"] & bits.get(term.value, Flag.BIAS_WARNING | Flag.SAME_FAMILY))
    if term.name == "mark":
        return bool(row["marked"])
    if term.name.startswith("unanimous"):
        return bool(row[term.name])
    name = "truth" if term.name == "label" else term.name
    return bool(row[name] == (None if term.value == "none" else term.value))


def keeps(row: Row, kept: Filter) -> bool:
    return all(any(part_holds(row, part) for part in group) for group in kept.groups)


def part_holds(row: Row, part: Part) -> bool:
    found = keeps(row, part.filter) if isinstance(part, Nested) else holds(row, part)
    return found is not part.negated


def in_order(
    rows: list[Row], draw: list[int], mix: list[int], order: str, descending: bool
) -> list[int]:
    """The rows by stable sorts, the least important first: ties as drawn, no number last."""
    places = {
        "draw": draw, "mix": mix, "file": list(range(len(rows))),
        "id": list(reversed(range(len(rows)))),
    }  # fmt: skip
    found = list(places.get(order, draw))
    if descending:
        found.reverse()
    if order in NUMBERS:
        # Python keeps ties in their order in a reversed sort as well.
        found.sort(key=lambda row: rows[row][order] or 0.0, reverse=descending)
        found.sort(key=lambda row: rows[row][order] is None)
    return found


@given(RUNS, st.sampled_from([*ORDERS, "mix"]), st.booleans(), FILTERS)
def test_order_sorts_what_filter_keeps(run: Any, order: str, descending: bool, text: str) -> None:
    rows, draw, mix = run
    kept, found = parse_filter(text), columns(rows, draw, mix)
    order_text = f"-{order}" if descending else order
    wanted = [row for row in in_order(rows, draw, mix, order, descending) if keeps(rows[row], kept)]
    found.columns = {name: found.columns[name] for name in columns_of(kept, order_text)}
    marked = [FIRST + row for row, one in enumerate(rows) if one["marked"]]
    mask = mask_of(found, kept, lambda _: marked)
    assert ordered(found, mask, order_text).tolist() == wanted
    assert list(found.keys(ordered(found, None, "file"))) == [
        FIRST + row for row in range(len(rows))
    ]


@pytest.mark.parametrize("few", [0, 5_000])
@given(st.permutations(range(12)), st.binary(min_size=12, max_size=12), st.integers(0, 12))
def test_members_are_counted_as_by_hand(few: int, order: Any, marks: bytes, size: int) -> None:
    first, keys = 40, array("q", [40 + place for place in order[:size]])
    with pytest.MonkeyPatch.context() as then:
        then.setattr(places, "_FEW", few)
        found = places.members(keys, first, len(marks))
        at = [places.place_of(keys, key) for key in range(first, first + 12)]
    assert [place for place in range(12) if found[place]] == sorted(order[:size])
    assert at == [order[:size].index(k) if k in order[:size] else None for k in range(12)]


@given(st.permutations(range(8)), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9))))
def test_moved_keys_stand_behind_the_others(order: list[int], moves: list[tuple[int, int]]) -> None:
    wanted = [*order]
    for key, after in moves:
        if key in wanted and after in wanted and key != after:
            wanted.remove(key)
            wanted.insert(wanted.index(after) + 1, key)
    assert list(places.moved(array("q", order), moves)) == wanted
