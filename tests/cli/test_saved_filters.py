"""Filters from the shell: kept by name, used by name, and searches that index first."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.domain.query.filter import EXAMPLE, RULE
from reviewdesk.domain.records import View
from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import report, verdict

REPORT = report(
    verdict("a", 0.9, flagged=True, input="The wheel"),
    verdict("b", 0.1, flagged=True),
    verdict("c", 0.9, case={"test": "t", "tags": ["late fee"]}, output="wheels"),
)


@pytest.fixture
def loaded(cli: Cli, write: Write) -> Cli:
    assert cli("ingest", write("report.json", REPORT)).code == 0
    return cli


def ids(cli: Cli, text: str) -> list[str]:
    return sorted(row["id"] for row in cli("queue", "--filter", text, "--json").json)


def test_filters_are_saved_listed_used_and_removed(loaded: Cli) -> None:
    assert loaded("filters", "--json").json == {}
    done = loaded("filters", "save", "todo", "esc label:none")
    assert (done.code, done.out, done.err) == (0, "", "@todo: saved\n")
    loaded("filters", "save", "@late", 'tag:"late fee"')
    assert loaded("filters", "--json").json == {"late": 'tag:"late fee"', "todo": "esc label:none"}
    assert [line.split(maxsplit=1) for line in loaded("filters").out.splitlines()] == [
        ["@late", 'tag:"late fee"'],
        ["@todo", "esc label:none"],
    ]
    assert ids(loaded, "@todo") == ["a", "b"]
    assert ids(loaded, "@todo decision:fail") == ["b"]
    assert ids(loaded, "@late") == ["c"]
    assert loaded("filters", "remove", "todo").err == "@todo: removed\n"
    done = loaded("queue", "--filter", "esc @todo", "--json")
    assert done.code == 2
    assert done.lines[-1] == ("filter, column 5: no saved filter 'todo'. Saved filters: late.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("save", "to do", "esc"), "is not a name for a filter"),
        (("save", "todo", "esc nope"), "filter, column 5: no flag 'nope'"),
        (("save", "todo", ""), "keeps everything"),
        (("remove", "todo"), "no saved filter 'todo'"),
    ],
)
def test_what_cannot_be_kept_is_one_line(loaded: Cli, arguments: Any, words: str) -> None:
    done = loaded("filters", *arguments)
    assert (done.code, done.out, len(done.lines)) == (2, "", 1)
    assert words in done.err


def test_searches_and_groups_are_asked_for_and_pointed_at(loaded: Cli) -> None:
    assert ids(loaded, "text~wheel") == ["a", "c"]
    assert ids(loaded, 'text~"the wheel"') == ["a"]
    assert ids(loaded, "!text~wheel|esc") == ["a", "b"]
    # a and b are escalated, and b alone is a fail; c alone has a tag.
    assert ids(loaded, "!(esc decision:pass)") == ["b", "c"]
    assert ids(loaded, "esc decision:pass|tag:none") == ["a", "b"]
    assert ids(loaded, "(esc decision:fail)|!(tag:none)") == ["b", "c"]
    loaded("filters", "save", "some", "esc|!(tag:none)")
    assert ids(loaded, "!(@some decision:pass)") == ["b"]
    wrong = loaded("queue", "--filter", "esc (tag:none")
    assert wrong.code == 2
    assert wrong.lines[-1] == "filter, column 5: a parenthesis is not closed. Close it with )."


@pytest.mark.parametrize(
    ("filter_", "order", "shown", "told"),
    [
        ("text~wheel", "file", 2, []),
        ("run:gone", "file", 3, [
            "the filter of your last session is dropped: filter, column 5: no run",
        ]),
        ("breach:band", "-share", 3, [
            "the filter of your last session is dropped: filter, column 1: no fact 'breach'",
            "the order of your last session is dropped: no order '-share'",
        ]),
    ],
)  # fmt: skip
def test_a_kept_filter_or_order_that_cannot_be_asked_is_dropped(
    loaded: Cli, desk_path: Path, filter_: str, order: str, shown: int, told: list[str]
) -> None:
    with closing(Desk.open(desk_path, reviewer="ann")) as desk:
        desk.save_view(desk.run(), View(filter=filter_, order=order))
    done = loaded("open")
    assert (done.code, len(done.out.splitlines()), len(done.lines)) == (0, 1 + shown, len(told))
    assert [line.startswith(start) for line, start in zip(done.lines, told, strict=True)] == (
        [True] * len(told)
    )
    # One that is asked for must hold.
    assert loaded("open", "--filter", filter_).code == (2 if told else 0)


def test_the_help_of_the_queue_says_how_words_are_put_together(cli: Cli) -> None:
    assert f"{RULE}. {EXAMPLE} keeps" in " ".join(cli("queue", "--help").out.split())
