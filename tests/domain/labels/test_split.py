"""The split of a rubric's labels, the one word of a try, and the file of a chain of tries."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.labels.chain import (
    FILE,
    LINE,
    NEWER,
    ChainName,
    ChainProblem,
    event_line,
    file_name,
    header_line,
    read_events,
    read_header,
)
from reviewdesk.domain.labels.improve import (
    Half,
    PanelAdopted,
    Split,
    SplitMade,
    Step,
    TriedCell,
    TryBegun,
    TryEnded,
    TryVerdict,
    group_of,
    halved,
    level,
    replay,
    sign_tail,
    smallest_gain,
    try_figures,
    try_verdict,
)
from reviewdesk.domain.records import ChainEvent

GROUPS = st.lists(st.tuples(st.integers(0, 60).map(str), st.sampled_from("abc")), max_size=120)


@given(GROUPS, st.text(max_size=3), st.integers(0, 120))
def test_both_halves_balance_and_stay(groups: list[tuple[str, str]], seed: str, cut: int) -> None:
    strata = dict(reversed(groups))
    first = halved(groups[:cut], Split("r"), seed)
    split = replay("r", [SplitMade("r", *first, seed)])
    more = halved(groups, split, seed)
    grown = replay("r", [SplitMade("r", *first, seed), SplitMade("r", *more, seed)])
    assert split.tuning <= grown.tuning
    assert split.holdout <= grown.holdout
    assert not grown.tuning & grown.holdout
    assert grown.tuning | grown.holdout == set(strata)
    whole = replay("r", [SplitMade("r", *halved(groups, Split("r"), seed), seed)])
    for stratum in "abc":
        held = [name for name in strata if strata[name] == stratum]
        kept = sum(whole.half(name) is Half.HOLDOUT for name in held)
        # An odd group is left over, and what is left over is carried to the next stratum.
        assert abs(kept - len(held) / 2) <= 1
    assert abs(len(whole.holdout) - len(strata) / 2) <= 1


def begun(name: str) -> TryBegun:
    return TryBegun("r", name, "old", "new", "p+c.yaml", ("00",), asks=True)


def test_what_two_desks_did_adds_up_in_any_order() -> None:
    here: list[Step] = [
        SplitMade("r", ("a", "b"), ("c", "d"), "s"), begun("one"),
        TryEnded("r", "one", TryVerdict.BETTER),
    ]  # fmt: skip
    there: list[Step] = [SplitMade("r", ("c", "e"), ("a", "f"), "t"), begun("two")]
    other: list[Step] = [SplitMade("another", ("f",), ("d",), "s")]
    for order in permutations([here, there, other]):
        found = replay("r", [step for part in order for step in part])
        # Whatever was in a tuning half on either desk has been seen.
        assert found.tuning == {"a", "b", "c", "e"}
        assert found.holdout == {"d", "f"}
        assert len(found.tries) == 2
    # A try that is continued repeats its event and counts once.
    again = replay("r", [*here, begun("one"), begun("three")]).tries
    assert [one.name for one, _ in again.values()] == ["one", "three"]


def test_an_adoption_spends_the_holdout_and_ends_its_tries() -> None:
    gain = try_figures([TriedCell(0, 10, 10, 6, 0, 4)], 0)
    adopted = PanelAdopted(
        "r", "now", "one", "old", "new", "p.yaml", "s", 1, TryVerdict.BETTER, gain
    )  # fmt: skip
    steps: list[Step] = [SplitMade("r", ("a",), ("b",), "s"), begun("one"), adopted]
    found = replay("r", steps)
    assert found.tuning == {"a", "b"}
    assert not found.holdout
    assert not found.tries
    assert halved([(name, "x") for name in "abcd"], found, "s") == ((), ("c", "d"))
    # What tested the adopted panel did not tune it, until labels are split again.
    assert found.spent == {"b"}
    assert not replay("r", [*steps, SplitMade("r", (), ("c",), "s")]).spent


def test_near_copies_are_one_group() -> None:
    one = group_of("Where is\n it?", "t", "v1")
    assert one == group_of("where  is it?", "t", "v2")
    assert one != group_of("where is it?", "u", "v2")
    # A test that repeats the id of its verdict says nothing.
    assert group_of("q", "v1", "v1") == group_of("q", "v2", "v2")
    assert group_of(None, "v1", "v1") != group_of(None, "v2", "v2")


@pytest.mark.parametrize(
    ("gained", "lost", "k", "word"),
    [
        # One stratum: all of m go one way with chance 2**-m, and the level of try k is .025/2**k.
        (5, 0, 0, "not shown"),  # .03125
        (6, 0, 0, "better"),  # .015625
        (6, 0, 1, "not shown"),
        (7, 0, 1, "better"),  # .0078125
        (0, 6, 0, "worse"),
        (9, 2, 0, "not shown"),  # (1 + 11 + 55)/2048 = .0327
        (10, 2, 0, "better"),  # (1 + 12 + 66)/4096 = .0193
        (0, 0, 0, "not shown"),
    ],
)
def test_a_try_tells_one_word(gained: int, lost: int, k: int, word: str) -> None:
    assert try_verdict([TriedCell(0, 300, 100, gained, lost, 50)], k) == word


def test_items_weigh_what_they_stand_for() -> None:
    flagged = TriedCell(0, 40, 20, 4, 0, 10)
    rest = TriedCell(3, 400, 20, 0, 2, 18)
    # Two losses among the rest stand for 40 verdicts, four gains for 8.
    told = try_figures([flagged, rest], 0)
    assert told.gain == pytest.approx((8 - 40) / 440)
    # Weights 2 and 20 become 4 and 40: only both losses weigh more than the gains, so all outcomes
    # are as good but for some of those with two losses. Of 2**6: 48 without them, and with them
    # those as good as all four gains: 1.
    assert sign_tail([flagged, rest]) == pytest.approx(49 / 64)
    # Right before: 10 of 20 flagged, 20 of 20 of the rest; after: 14 and 18.
    assert told.before == pytest.approx((20 + 400) / 440)
    assert told.after == pytest.approx((28 + 360) / 440)
    assert told.level == pytest.approx(0.95)


def test_the_smallest_gain_is_told_from_counts_alone() -> None:
    items = [0] * 20
    # Six of twenty all one way: 30 points, and seven for the second try.
    assert smallest_gain({0: 100}, items, 0) == pytest.approx(0.3)
    assert smallest_gain({0: 100}, items, 1) == pytest.approx(0.35)
    assert smallest_gain({0: 100}, items[:5], 0) is None
    assert smallest_gain({}, [], 0) is None
    assert [level(k) for k in range(3)] == [0.025, 0.0125, 0.00625]


DESK = "0123456789abcdef" * 2
EVENT = ChainEvent(
    DESK, "ann", 1, "label", "2025-01-31T12:00:00+00:00", "r", "v1", b"\1" * 32, "pass", "ann", 0,
    '{"counter":1,"note":"ü"}', 1, None, "", "ab" * 32,
)  # fmt: skip


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300))
def test_every_name_is_a_file_of_its_own_in_the_folder_of_its_desk(reviewer: str) -> None:
    name = ChainName(DESK, reviewer)
    assert read_header(header_line(name)) == name
    assert FILE.fullmatch(file_name(name))
    assert len(file_name(name).partition("/")[2]) < 240


def test_names_that_look_alike_are_two_files() -> None:
    names = ["ann", "Ann", "ANN", "@desk", "%40desk", "a/b", "a.b", "..", "x" * 200, "x" * 201]
    files = {file_name(ChainName(DESK, name)).casefold() for name in names}
    assert len(files) == len(names)
    assert file_name(ChainName(DESK, "../é")) == f"{DESK}/by-%2e%2e%2f%c3%a9.jsonl"


def test_an_event_is_read_as_it_was_written() -> None:
    assert list(read_events([event_line(EVENT), event_line(EVENT)])) == [EVENT, EVENT]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"", "the file is cut off"),
        (b"{}", "the file is cut off"),
        (b"{}\n", "does not begin as"),
        (b'{"schema":"reviewdesk.chain/1","desk":"a"}\n', "does not begin as"),
        (b'{"schema":"reviewdesk.chain/1","desk":"a","reviewer":7}\n', "does not begin as"),
        (b'{"schema":"reviewdesk.chain/12"}\n', NEWER),
        (b"[]\n", "is not an object"),
        (b"\xff\n", "is not UTF-8"),
        (b"[" * 100_000 + b"\n", "is not JSON"),
        (b'{"a":1e999}\n', "is not JSON"),
        (b'{"a":NaN}\n', "is not JSON"),
        (b'{"a":"\\ud800"}\n', "is not JSON"),
        (b" " * LINE + b"\n", "is too long"),
    ],
    ids=lambda one: repr(one[:20]),
)
def test_a_first_line_of_another_kind_is_refused(line: bytes, problem: str) -> None:
    with pytest.raises(ChainProblem, match=problem):
        read_header(line)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b'"item":"01', b'"item":"xx', "its item is not valid"),
        (b'"item":"01', b'"item":"', "its item is not valid"),
        (b'"tentative":0', b'"tentative":0.0', "its tentative is not valid"),
        (b'"seq":1', b'"seq":true', "its seq is not valid"),
        (b'"seq":1', b'"seq":1,"more":1', "has other fields than an event"),
        (b'"seq":1', b'"seq":' + b"9" * 5000, "is not JSON"),
    ],
)
def test_a_line_of_no_event_is_refused_by_its_number(old: bytes, new: bytes, problem: str) -> None:
    lines = [event_line(EVENT), event_line(EVENT).replace(old, new)]
    with pytest.raises(ChainProblem, match=problem) as caught:
        list(read_events(lines))
    assert caught.value.seq == 2
