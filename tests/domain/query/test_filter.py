import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from reviewdesk.domain.assessment.result import SHORT, Flag
from reviewdesk.domain.query import words
from reviewdesk.domain.query.filter import (
    DEEPEST,
    EXAMPLE,
    MIXED,
    ORDERS,
    Filter,
    FilterError,
    Nested,
    Part,
    Term,
    condition,
    expand_filter,
    hidden_order,
    parse_filter,
    parse_order,
    tokens,
)
from reviewdesk.errors import UsageError


def _term(text: str) -> Term:
    (term,) = parse_filter(text).terms()
    return term


@pytest.mark.parametrize("text", ["", " ", "    "])
def test_an_empty_filter_keeps_everything(text: str) -> None:
    assert parse_filter(text) == Filter(())


@pytest.mark.parametrize("flag", list(Flag))
def test_a_flag_by_any_of_its_names(flag: Flag) -> None:
    expected = Term("flag", flag.label, ":", str(flag.value), negated=False)
    short = SHORT[flag].rstrip("!")
    for name in (flag.label, flag.label.upper(), flag.label.replace("_", "-"), short):
        assert _term(name) == expected


FACTS = {
    "label": ("none", "pass", "fail", "unsure", "disputed"),
    "band": ("high", "medium", "low", "none"),
    "decision": ("pass", "fail", "inconclusive", "error", "none"),
    "warn": ("any", "bias", "same-family"),
}
# An operator in the value of a name is text.
NAMES = {"x": "x", '"late fee"': "late fee", '"a|b"': "a|b", '"a<b"': "a<b", "!x": "!x",
         "a:b~c=d": "a:b~c=d", "Ünï": "Ünï"}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind", "name", "value"),
    [
        *(
            (f"{fact}:{said}", "choice", fact, value)
            for fact, values in FACTS.items()
            for value in values
            for said in (value, value.upper(), f'"{value}"')
        ),
        ("test~deploy", "text", "test", "deploy"),
        ('test~"release notes"', "text", "test", "release notes"),
        ('test~"a|b"', "text", "test", "a|b"),
        # What follows the first ~ is text, whatever it looks like.
        ("test~a~b", "text", "test", "a~b"),
        ("id~score<.6", "text", "id", "score<.6"),
        ("id~a:b", "text", "id", "a:b"),
        ("id~!x", "text", "id", "!x"),
        ("id~", "text", "id", ""),
        *(
            (f"{name}:{said}", name, name, value)
            for name in ("tag", "juror", "run", "flip")
            for said, value in NAMES.items()
        ),
        # Without a tag, and with a tag of that name.
        ("tag:none", "state", "untagged", ""),
        ('tag:"none"', "tag", "tag", "none"),
        ("run:none", "run", "run", "none"),
        *((name.upper(), "state", name, "") for name in ("mark", "note", "deferred")),
    ],
)
def test_a_term(text: str, kind: str, name: str, value: str) -> None:
    for negated in (False, True):
        found = _term("!" * negated + text)
        assert (found.kind, found.name, found.value) == (kind, name, value)
        assert found.negated is negated


@pytest.mark.parametrize("name", ["score", "agreement", "margin", "range", "swing"])
@pytest.mark.parametrize("op", ["<", "<=", "=", ">=", ">"])
def test_comparisons(name: str, op: str) -> None:
    for text, value in ((".6", 0.6), ("-2.5", -2.5), ("1", 1.0), ("1e-3", 0.001)):
        found = _term(f"{name}{op}{text}")
        assert (found.kind, found.name, found.op) == ("number", name, op)
        assert float(found.value) == value


@pytest.mark.parametrize("value", ["refund", '"late fee"', 'refund"late fee"', "a:b<c~d", "東京"])
def test_a_search_keeps_its_quotes(value: str) -> None:
    assert _term(f"text~{value}") == Term("words", "text", "~", value, negated=False)
    assert parse_filter(f"esc|!text~{value}").searches
    assert not parse_filter(f'tag:"text~{value.replace(chr(34), "")}" test~x').searches


def test_a_term_knows_its_place_space_is_and_bar_is_or_bang_is_not() -> None:
    found = parse_filter('esc !run:a|flip:"b c" tag:d')
    # Places counted by hand: a behind "esc !run:", the quote behind "flip:", d at the end.
    assert [term.column for term in found.terms()] == [0, 9, 16, 26]
    found = parse_filter('  esc  !label:none|score<.6   test~"a b"|!id~x ')
    shape = [
        [(part.name, part.negated) for part in group if isinstance(part, Term)]
        for group in found.groups
    ]
    assert shape == [
        [("escalated", False)],
        [("label", True), ("score", False)],
        [("test", False), ("id", True)],
    ]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("", False),
        ("id~a test~b label:none", False),
        ("!label:pass|id~x", False),
        ("label:none margin>.1", True),
        ("mark note deferred", False),
        ("tag:x tag:none juror:y run:z", False),
        ("label:fail !wrong:pass", True),
        ("unanimous_votes", True),
        # One hidden fact among open ones is enough.
        ("label:none id~a|!split", True),
    ],
)
def test_which_filters_a_blind_session_hides(text: str, hidden: bool) -> None:
    assert parse_filter(text).hidden is hidden


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        # Columns count from 0; under each, the word that is wrong.
        ("nope", 0, "no flag 'nope'"),
        ("esc nope", 4, "no flag 'nope'"),
        ("!nope", 1, "no flag 'nope'"),
        ("esc|nope", 4, "no flag 'nope'"),
        ("!!esc", 1, "no flag '!esc'"),
        ("colour:red", 0, "no fact 'colour'"),
        ("Label:none", 0, "no fact 'Label'"),
        ("label:", 6, "no label ''"),
        ("label:maybe", 6, "no label 'maybe'"),
        ("esc text~", 9, "no word to search for"),
        ('esc|!text~"-"', 10, "no word to search for"),
        ("tag:", 4, "a tag is missing"),
        ('tag:"a b"|band:x', 15, "no band 'x'"),
        ("name~x", 0, "'name' is not a text to look in"),
        ("id<3", 0, "'id' is not a number to compare"),
        ("esc <3", 4, "'' is not a number to compare"),
        ("score<", 6, "'' is not a finite number"),
        ("esc|!score>=high", 12, "'high' is not a finite number"),
        ("score<nan", 6, "'nan' is not a finite number"),
        ("margin>1e999", 7, "'1e999' is not a finite number"),
        ("!", 1, "a condition is missing"),
        ("|", 0, "a condition is missing"),
        ("esc|", 4, "a condition is missing"),
        ('test~"a b', 5, "a quote is not closed"),
        ('test~"a" id~"b', 12, "a quote is not closed"),
        ("(esc", 0, "a parenthesis is not closed"),
        ("esc !(bias|mark", 5, "a parenthesis is not closed"),
        ("(esc (bias)", 0, "a parenthesis is not closed"),
        ("esc)", 3, "no parenthesis is open here"),
        (")", 0, "no parenthesis is open here"),
        ("()", 1, "a condition is missing"),
        ("esc|!( )", 7, "a condition is missing"),
        ("(|esc)", 1, "a condition is missing"),
        ("(esc|)", 5, "a condition is missing"),
        ("esc | bias", 4, "No spaces around |"),
        ("esc| bias", 4, "No spaces around |"),
        ("(esc)bias", 5, "a space or | is missing"),
        ("(esc)(bias)", 5, "a space or | is missing"),
        ("(esc nope)", 5, "no flag 'nope'"),
        ("!(esc|(label:maybe))", 13, "no label 'maybe'"),
        ("!!(esc)", 1, "no flag '!(esc)'"),
        ("esc(bias)", 0, "no flag 'esc(bias)'"),
        # A word that opens a parenthesis has to close it, or to stand in quotes.
        ("test~f(", 6, "a parenthesis is not closed"),
        ("(esc test~f(x)", 0, "a parenthesis is not closed"),
        ("tag:a(b c)", 5, "a parenthesis is not closed"),
        ("test~x)", 6, "put a text that holds it in quotes"),
    ],
)
def test_errors_point_at_their_column(text: str, column: int, words: str) -> None:
    for read in (parse_filter, lambda text: expand_filter(text, {})):
        with pytest.raises(FilterError) as caught:
            read(text)
        assert caught.value.column == column
        assert words in str(caught.value)
        # For a person, columns count from 1.
        assert caught.value.message.startswith(f"filter, column {column + 1}: ")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        # Every kind of word that could stand there is named.
        ("zzz", "Flags: bias, degr, disp, esc, "),
        ("zzz", "trim; mark, note, deferred; or wrong, label:none, band:low, tag:x, "),
        ("wrongly", "Did you mean wrong? Flags: "),
        ("marked", "Did you mean mark? Flags: "),
        ("esc SPILT", "Did you mean split? "),
        # A fact that is known, with the sign of another kind or misspelt.
        ("score:.6", "Write score<.6."),
        ("label=none", "Write label:none."),
        ("tag~x", "Write tag:NAME."),
        ("test:deploy", "Write test~word."),
        ("Label:none", "Write label:none."),
        ("label:none|spilt", "Did you mean split? "),
        ("colour:red", "Facts: label, band, decision, wrong, rerun, warn, tag, juror, "),
    ],
)
def test_what_could_have_been_meant_is_named(text: str, hint: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(text)
    assert hint in caught.value.hint


PIECES = st.sampled_from(
    [*'!|"~:<=>@-() \t\x00é٣', "esc", "split", "label", "none", "band", "score", ".6", "nan",
     "test", "text", "tag", "run", "flip", "juror", "mark", "saved"]
)  # fmt: skip
LANGUAGE = st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join))


@given(LANGUAGE)
def test_nothing_but_a_filter_error_is_ever_raised(text: str) -> None:
    column, found = 0, Filter(())
    try:
        found = parse_filter(text)
    except FilterError as error:
        column = error.column
        event("refused")
    else:
        event("read")
        assert bool(found.groups) == bool(text.strip(" "))
    assert 0 <= column <= len(text)
    assert all(found.groups)


@given(LANGUAGE)
def test_saved_filters_are_pointed_at_where_they_were_typed(text: str) -> None:
    saved, column = {"saved": "esc|tag:x !mark"}, 0
    try:
        found = expand_filter(text, saved)
    except FilterError as error:
        column = error.column
    else:
        event("read")
        assert parse_filter(found) == parse_filter(
            " ".join(word.replace("@saved", f"({saved['saved']})") for word in _typed(text))
        )
    assert 0 <= column <= len(text)


def _typed(text: str) -> list[str]:
    """The words of a filter, by another way than the parser's: quotes are cut out first."""
    parts = text.split('"')
    for place in range(1, len(parts), 2):
        parts[place] = parts[place].replace(" ", "\ue000")
    return [word.replace("\ue000", " ") for word in '"'.join(parts).split(" ") if word]


SAVED = {
    "todo": "esc|bias label:none", "late": 'tag:"late fee"', "old": "a)",
    "deep": "(" * DEEPEST + "esc" + ")" * DEEPEST,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("", ""),
        ("@todo", "esc|bias label:none"),
        (" @todo ", "esc|bias label:none"),
        ("  @todo   test~x @late ", '(esc|bias label:none) test~x (tag:"late fee")'),
        ('id~@todo test~"a @todo"', 'id~@todo test~"a @todo"'),
        ("!@todo", "!(esc|bias label:none)"),
        ("mark|@todo|!@late kin", 'mark|(esc|bias label:none)|!(tag:"late fee") kin'),
        ("(mark  @todo)", "(mark (esc|bias label:none))"),
        ('(tag:"@todo")', '(tag:"@todo")'),
    ],
)
def test_saved_filters(text: str, expanded: str) -> None:
    assert expand_filter(text, SAVED) == expanded
    assert bool(parse_filter(expanded).groups) is bool(text)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("esc @nope", 4, "no saved filter 'nope'. Saved filters: deep, late, old, todo."),
        ("(esc @nope)", 5, "no saved filter 'nope'"),
        ("@", 0, "no saved filter ''"),
        ("@nope|esc", 0, "no saved filter 'nope'"),
        ("esc|!@nope", 5, "no saved filter 'nope'"),
        # The column is that of the text as it was typed.
        ("@todo nope", 6, "no flag 'nope'"),
        # What is wrong with what was saved is told where it is named.
        ("esc @deep", 4, f"@deep cannot be used here: filter, column {DEEPEST}: parentheses"),
        ("esc @old", 4, "@old cannot be used here: filter, column 1: no flag 'a'"),
    ],
)
def test_saved_filters_that_are_wrong(text: str, column: int, words: str) -> None:
    with pytest.raises(FilterError) as caught:
        expand_filter(text, SAVED)
    assert caught.value.column == column
    assert words in str(caught.value)


@pytest.mark.parametrize("name", [*ORDERS, MIXED])
def test_orders_and_their_descent(name: str) -> None:
    assert parse_order(name) == (name, False)
    assert parse_order(f"-{name}") == (name, True)


@pytest.mark.parametrize("order", ["", "-", "--id", "Score", "scores", " id", "-share"])
def test_no_such_order(order: str) -> None:
    with pytest.raises(UsageError, match="no order"):
        parse_order(order)


def test_which_orders_a_blind_session_hides() -> None:
    hidden = {name for name in (*ORDERS, MIXED) if hidden_order(name)}
    # All but those of the file, of the draw without its strata, and of the name.
    assert hidden == {*ORDERS} - {"draw", "file", "id"}
    assert {name for name in hidden if hidden_order(f"-{name}")} == hidden


def test_no_word_tells_the_panel_s_answer_but_the_hidden_ones() -> None:
    # Every word that can be typed: what it tells without the panel's answer is listed here, so a
    # new word is hidden until somebody decides otherwise.
    flags = [words.short(flag) for flag in SHORT]
    values = [f"{name}:{value}" for name, choices in words.CHOICES.items() for value in choices]
    named = [f"{name}:x" for name in words.NAMED]
    compared = [*(f"{name}<.5" for name in words.NUMBERS), *(f"{name}~x" for name in words.TEXTS)]
    typed = [*flags, *words.STATES, *words.PANEL, *values, *named, *compared]
    assert {text for text in typed if not parse_filter(text).hidden} == {
        *words.STATES,
        *(f"label:{label}" for label in words.CHOICES["label"]),
        *("tag:x", "juror:x", "run:x", "id~x", "test~x"),
    }


@pytest.mark.parametrize(
    ("text", "decided"),
    [
        ("wrong", True),
        ("esc !mark wrong:fail|label:unsure", True),
        ("!label:none", True),
        ("((label:fail mark)|wrong) esc", True),
        ("", False), ("label:none", False), ("!wrong", False), ("!label:fail", False),
        ("wrong|mark", False), ("!(wrong)", False), ("tag:wrong esc", False),
    ],
)  # fmt: skip
def test_which_filters_keep_labelled_verdicts_only(text: str, decided: bool) -> None:
    assert parse_filter(text).decided is decided


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


def test_groups_are_read_and_what_only_they_ask_for_is_asked_for() -> None:
    assert parse_filter("mark (note|(text~fee tag:x))").searches
    assert not parse_filter('mark (tag:"text~fee")').searches
    groups = parse_filter(EXAMPLE).groups
    assert [len(group) for group in groups] == [2, 1]
    assert isinstance(groups[1][0], Nested)


@given(FILTERS, st.data())
def test_a_parenthesis_too_few_is_pointed_at(found: Filter, data: st.DataObject) -> None:
    text = written(found)
    marks = [t for t in tokens(text) if t.sign and t.sign in "()"]
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


@pytest.mark.parametrize("opened", ["(", "!(", "esc|(", "(esc "])
@pytest.mark.parametrize("count", [DEEPEST + 1, 10_000])
def test_parentheses_have_a_depth(opened: str, count: int) -> None:
    with pytest.raises(FilterError, match=f"more than {DEEPEST} deep") as caught:
        parse_filter(opened * count)
    # The parenthesis that is one too many.
    assert caught.value.column == DEEPEST * len(opened) + opened.index("(")
    assert parse_filter("!(" * DEEPEST + "esc" + ")" * DEEPEST).hidden


@pytest.mark.parametrize("value", ["f(x)", "f(", ")", "a (b)", "(a|b)"])
def test_a_name_with_parentheses_is_written_in_quotes(value: str) -> None:
    made = condition("tag", value)
    assert made == f'tag:"{value}"'
    _, term = parse_filter(f"(esc|{made})").terms()
    assert term.value == value
