"""Parentheses in filters: what they group, what is refused where, and what sees through them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.query.completion import condition
from reviewdesk.domain.query.filter import (
    DEEPEST,
    EXAMPLE,
    MOST,
    Filter,
    FilterError,
    Nested,
    Part,
    Piece,
    Term,
    expand_filter,
    parse_filter,
    tokens,
)

WORDS = {
    text: next(parse_filter(text).terms())
    for text in ("esc", "!split", "label:none", "score<.6", 'test~"a) b"', "test~f(x)", "!mark",
                 'tag:"a|b"', "juror:m(1)")
}  # fmt: skip
TEXTS = {term: text for text, term in WORDS.items()}


def filters(parts: st.SearchStrategy[Part]) -> st.SearchStrategy[Filter]:
    groups = st.lists(parts, min_size=1, max_size=3).map(tuple)
    return st.lists(groups, min_size=1, max_size=3).map(lambda found: Filter(tuple(found)))


LEAF: st.SearchStrategy[Part] = st.sampled_from(list(WORDS.values()))
PARTS = st.recursive(
    LEAF, lambda inner: LEAF | st.builds(Nested, filters(inner), st.booleans()), max_leaves=12
)
FILTERS = filters(PARTS)


def written(found: Filter, space: str = " ") -> str:
    """A filter as a person would type it."""
    return space.join("|".join(map(_part, group)) for group in found.groups)


def _part(part: Part) -> str:
    if isinstance(part, Term):
        return TEXTS[part]
    return f"{'!' if part.negated else ''}({written(part.filter)})"


@given(FILTERS, st.sampled_from([" ", "   "]))
def test_a_written_filter_reads_as_what_was_written(found: Filter, space: str) -> None:
    text = written(found, space)
    assert parse_filter(text) == found
    assert parse_filter(expand_filter(text, {})) == found


@given(FILTERS)
def test_flags_and_searches_are_seen_within_parentheses(found: Filter) -> None:
    # Of the words above, blind review hides these three.
    hidden = {WORDS["esc"], WORDS["!split"], WORDS["score<.6"]}
    assert found.hidden == bool(hidden & set(found.terms()))


def test_what_only_a_group_asks_for_is_asked_for() -> None:
    assert parse_filter("mark (note|(text~fee tag:x))").searches
    assert not parse_filter('mark (tag:"text~fee")').searches


@given(FILTERS, st.data())
def test_a_parenthesis_too_few_is_pointed_at(found: Filter, data: st.DataObject) -> None:
    text = written(found)
    marks = [t for t in tokens(text) if t.piece in {Piece.OPEN, Piece.CLOSE}]
    if not marks:
        text, marks = f"({text})", tokens(f"({text})")[:1]
    lost = data.draw(st.sampled_from(marks))
    broken = text[: lost.end - 1] + text[lost.end :]
    with pytest.raises(FilterError) as caught:
        parse_filter(broken)
    assert 0 <= caught.value.column <= len(broken)


def test_the_bar_binds_tighter_than_the_space() -> None:
    esc, bias, mark = (next(parse_filter(word).terms()) for word in ("esc", "bias", "mark"))
    assert parse_filter("esc|bias mark") == Filter(((esc, bias), (mark,)))
    both = Nested(Filter(((bias,), (mark,))), negated=False)
    assert parse_filter("esc|(bias mark)") == Filter(((esc, both),))
    assert parse_filter("esc|!( bias  mark )") == Filter(
        ((esc, Nested(both.filter, negated=True)),)
    )


def test_the_example_of_the_help_is_a_filter() -> None:
    groups = parse_filter(EXAMPLE).groups
    assert [len(group) for group in groups] == [2, 1]
    assert isinstance(groups[1][0], Nested)


@pytest.mark.parametrize("opened", ["(", "!(", "esc|(", "(esc "])
@pytest.mark.parametrize("count", [DEEPEST + 1, 10_000])
def test_parentheses_have_a_depth(opened: str, count: int) -> None:
    with pytest.raises(FilterError, match=f"more than {DEEPEST} deep") as caught:
        parse_filter(opened * count)
    # The parenthesis that is one too many.
    assert caught.value.column == DEEPEST * len(opened) + opened.index("(")
    assert parse_filter("!(" * DEEPEST + "esc" + ")" * DEEPEST).hidden


def test_conditions_have_a_number() -> None:
    assert len(list(parse_filter("esc|bias " * (MOST // 2)).terms())) == MOST
    with pytest.raises(FilterError, match=f"more than {MOST} conditions") as caught:
        parse_filter("(esc) " * 10_000)
    # Each takes six columns, and the word stands behind its parenthesis.
    assert caught.value.column == 6 * MOST + 1


@pytest.mark.parametrize("value", ["f(x)", "f(", ")", "a (b)", "(a|b)"])
def test_a_name_with_parentheses_is_written_in_quotes(value: str) -> None:
    made = condition("tag", value)
    assert made == f'tag:"{value}"'
    _, term = parse_filter(f"(esc|{made})").terms()
    assert term.value == value
