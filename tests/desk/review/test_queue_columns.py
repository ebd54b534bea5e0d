"""The columns in memory behind a queue: what they take, when they are read, and for whom."""

from contextlib import closing
from typing import Any

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import queue
from reviewdesk.desk.review.filters import expand, forget, save, saved, vocabulary
from reviewdesk.domain.query.filter import FilterError
from reviewdesk.domain.query.matching import RunColumns
from reviewdesk.domain.query.words import CHOICES, NUMBERS, ORDERS, PANEL
from reviewdesk.domain.records import Run, Truth
from reviewdesk.errors import NotFoundError, UsageError
from tests.helpers import load, numbered, open_desk, report, tag, traced, verdict

EVERY = " ".join(
    [
        "!esc",
        *(f"!{word}" for word in PANEL),
        *(f"!{name}<-9" for name in NUMBERS),
        *(f"(!{name}:{value}|id~v)" for name in CHOICES for value in CHOICES[name]),
        "!juror:none !mark !note !deferred !tag:x",
    ]
)
"""A filter with every word of the language that needs no other run and no index."""


def statements(desk: Desk, run: Run, text: str, order: str = "draw") -> list[str]:
    with traced(desk.conn) as seen:
        desk.queue(run, text, order)
    return seen


def size(held: RunColumns) -> int:
    return sum(column.nbytes for column in (*held.columns.values(), *held.masks.values()))


def test_the_columns_of_a_verdict_take_few_bytes(desk: Desk) -> None:
    count = 400
    run = load(desk, numbered(count))
    held = desk.columns.read(desk, run, queue.USUAL)
    # The row in the draw (4 bytes), two codes (1) and the flags (4).
    assert size(held) == count * (4 + 2 * 1 + 4)
    for order in (*ORDERS, "mix"):
        desk.queue(run, EVERY, order)
    # Three orders, seven numbers, three codes, flags, breaches, two unanimities, and the truth;
    # and a bit for each of the fixed terms: four words, one juror and one id.
    numbers, words = 3 * 4 + 7 * 8, 3 + 4 + 2 + 2 + 1
    assert size(held) <= count * (numbers + words) + 6 * (count // 8)


def test_another_run_takes_the_place_of_the_one_before(desk: Desk) -> None:
    small, large = (
        load(desk, numbered(10)),
        load(desk, report(*(verdict(f"w{n}") for n in range(300)))),
    )
    desk.columns.read(desk, large, queue.USUAL)
    desk.columns.read(desk, small, queue.USUAL)
    assert not desk.columns.holds(large)
    assert len(desk.queue(large, "!esc")) == 300


def test_the_connections_of_a_desk_read_a_column_once(desk: Desk) -> None:
    run = load(desk, numbered(20))
    with closing(desk.reader()) as reader:
        reader.columns.read(reader, run, queue.USUAL)
    seen = statements(desk, run, "decision:pass !esc", "-draw")
    assert not [query for query in seen if "verdicts" in query]


def test_labels_are_read_again_after_an_event_and_not_before(desk: Desk) -> None:
    run = load(desk, numbered(20))
    keys = desk.queue(run, "label:none")
    assert len(keys) == 20
    desk.label(keys[3], Truth.PASS)
    with closing(open_desk(desk.path, "ben")) as ben:
        ben.label(keys[5], Truth.FAIL)
    assert list(desk.queue(run, "label:pass|label:fail")) == [keys[3], keys[5]]
    assert not [query for query in statements(desk, run, "!label:none") if "verdicts" in query]
    desk.undo()
    assert list(desk.queue(run, "!label:none")) == [keys[5]]


def test_how_scores_swing_follows_the_loaded_runs(desk: Desk) -> None:
    run = load(desk, report(verdict("a", 0.9), verdict("b", 0.2), report_id="now"))
    assert len(desk.queue(run, "swing>=0")) == 0
    with closing(open_desk(desk.path, "ben")) as ben:
        other = load(ben, report(verdict("a", 0.5), report_id="before"))
    assert [row.id for row in desk.rows(desk.queue(run, "swing=.4"))] == ["a"]
    desk.remove(other)
    assert len(desk.queue(run, "swing>=0")) == 0


@pytest.mark.parametrize("order", ["draw", "-draw", "file", "-file", "id", "-id"])
def test_an_order_of_the_file_needs_no_column_in_memory(desk: Desk, order: str) -> None:
    run = load(desk, numbered(40))
    seen = statements(desk, run, "", order)
    keys = desk.queue(run, "", order)
    # The plan walks along an index or the rows themselves, and sorts nothing.
    plans = [str(row["detail"]) for query in seen
             for row in desk.conn.execute(f"EXPLAIN QUERY PLAN {query}")]  # fmt: skip
    assert not [line for line in plans if "TEMP B-TREE" in line or line.startswith("SCAN")]
    assert not desk.columns.holds(run)
    desk.columns.read(desk, run, queue.USUAL)
    assert keys == desk.queue(run, "", order)


def test_filters_are_kept_by_name_and_reviewer(desk: Desk) -> None:
    assert saved(desk) == {}
    save(desk, "todo", " esc   label:none ")
    save(desk, "@late.fee-2", 'tag:"late fee"')
    with closing(open_desk(desk.path, "ben")) as ben:
        assert saved(ben) == {}
        save(ben, "todo", "mark")
    assert saved(desk) == {"late.fee-2": 'tag:"late fee"', "todo": "esc label:none"}
    save(desk, "todo", "split")
    forget(desk, "@late.fee-2")
    assert saved(desk) == {"todo": "split"}


def test_what_a_saved_filter_quotes_is_written_out(desk: Desk) -> None:
    save(desk, "todo", "esc|bias label:none")
    save(desk, "late", "@todo tag:late")
    forget(desk, "todo")
    assert expand(desk, "@late !mark") == "((esc|bias label:none) tag:late) !mark"
    # A filter may take the place of the one that it quotes.
    save(desk, "late", "@late split")
    assert saved(desk) == {"late": "((esc|bias label:none) tag:late) split"}


@pytest.mark.parametrize("name", ["", "@", "a b", "a|b", 'a"', "a" * 41, "a\n", "é!"])
def test_what_is_no_name(desk: Desk, name: str) -> None:
    with pytest.raises(UsageError, match="is not a name for a filter"):
        save(desk, name, "esc")


@pytest.mark.parametrize(
    ("text", "column"), [("esc nope", 4), ("@gone", 0), ("esc @gone", 4), ('test~"a', 5)]
)
def test_only_what_can_be_read_is_kept_and_used(desk: Desk, text: str, column: int) -> None:
    for use in (lambda: save(desk, "x", text), lambda: expand(desk, text)):
        with pytest.raises(FilterError) as caught:
            use()
        assert caught.value.column == column
    assert saved(desk) == {}


def test_an_empty_filter_is_not_kept_and_forgetting_names_what_is_there(desk: Desk) -> None:
    assert expand(desk, "  ") == ""
    with pytest.raises(UsageError, match="keeps everything"):
        save(desk, "all", " ")
    save(desk, "todo", "esc")
    with pytest.raises(NotFoundError, match=r"no saved filter 'toda'. Saved filters: todo\."):
        forget(desk, "toda")


def seated(name: str, *pairs: tuple[str, str | None], tags: tuple[str, ...] = ()) -> dict[str, Any]:
    seats = [{"id": one, "score": 0.5, **({"model": two} if two else {})} for one, two in pairs]
    return verdict(name, jurors=seats, case={"test": name, "tags": list(tags)})


def test_the_names_that_a_filter_may_use(desk: Desk) -> None:
    run = load(
        desk,
        report(
            seated("a", ("j2", "GPT-4.1"), ("j1", None), tags=("Refund", "late fee")),
            seated("b", ("j1", "gpt-4.1"), tags=("refund",)),
        ),
    )
    other = load(desk, report(seated("c", ("other", None), tags=("elsewhere",)), report_id="new"))
    with closing(open_desk(desk.path, "ben")) as ben:
        tag(ben, ben.find(other, "c"), ["by-ben", "refund"])
    save(desk, "todo", "esc")
    found = vocabulary(desk, run)
    # The report's own tags are the run's, reviewers' tags are the desk's; one of each spelling.
    assert [name.casefold() for name in found.tags] == ["by-ben", "late fee", "refund"]
    assert [name.casefold() for name in found.jurors] == ["gpt-4.1", "j1", "j2"]
    assert found.runs == ("new", "run")
    assert found.filters == {"todo": "esc"}
    desk.remove(other)
    assert vocabulary(desk, run).runs == ("run",)


def test_jurors_are_read_off_a_sample_of_a_long_run(desk: Desk) -> None:
    run = load(desk, report(*(seated(f"v{n}", (f"j{n:04}", None)) for n in range(1000))))
    after = load(desk, numbered(3, report_id="after"))
    # 1000 panels, every fifth: two hundred of them.
    assert vocabulary(desk, run).jurors == tuple(f"j{n:04}" for n in range(0, 1000, 5))
    assert vocabulary(desk, after).jurors == ("j1", "j2", "j3")
