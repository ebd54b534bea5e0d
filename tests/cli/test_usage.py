"""Help, versions, options and exit codes."""

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from reviewdesk.cli import cli as root
from reviewdesk.desk.options import size_of
from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.docs.pages import assert_known
from tests.helpers import SAMPLES, mostly_slow, numbered


def commands(group: click.Group, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield above
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*above, name))
        else:
            yield (*above, name)


UNLISTED = ("undo", "redo", "defer", "filters", "archive")
"""Commands that moved, and still run by their earlier names."""


@pytest.mark.parametrize(
    ("text", "size"),
    [("12", 12), ("2k", 2048), ("500M", 500 << 20), ("4GB", 4 << 30), ("4 GiB", 4 << 30)],
)
def test_a_size_is_read_with_any_usual_unit(text: str, size: int) -> None:
    assert size_of(text) == size


def test_the_commands_stand_in_four_groups(cli: Cli) -> None:
    text = cli("--help").out.partition("Show this message and exit.\n")[2]
    groups = [line for line in text.splitlines() if line.endswith(":")]
    listed = [line for line in text.splitlines() if line.startswith("  ")][:-3]
    assert len(groups) == 4
    context = click.Context(root)
    commands = (root.get_command(context, name) for name in root.list_commands(context))
    assert len(listed) == sum(not one.hidden for one in commands if one) <= 24
    assert [line for line in listed if line.endswith("...") or not line.endswith(".")] == []
    for name in UNLISTED:
        assert cli(name, "--help").code == 0


@pytest.mark.parametrize("name", ["open", "ingest"])
def test_the_short_help_lists_twelve_options(cli: Cli, name: str) -> None:
    listed = [re.findall(r"^  (?:-\w, )?(--[\w-]+)", cli(name, more).out, re.MULTILINE)
              for more in ("--help", "--help-all")]  # fmt: skip
    assert len(listed[0]) <= 12
    assert {"--help", "--help-all"} <= {*listed[0]} < {*listed[1]}
    assert len(listed[1]) > 18
    every = cli("--help-all").out
    assert {f"reviewdesk {name}", *listed[1]} <= {*re.findall(r"--[\w-]+|reviewdesk \w+", every)}


def test_a_label_is_recorded_undone_and_deferred_under_one_command(cli: Cli) -> None:
    cli("ingest", SAMPLES / "support-bot.jsonl")
    name = "refund-after-30-days"
    assert cli("label", "--note", "day 31", name, "fail").out == f"label fail  {name}\n"
    assert cli("label", "undo").out == f"undo label fail  {name}\n"
    assert cli("label", "redo", "--json").json["event"] == "redo"
    assert cli("label", "defer", name).out == f"defer  {name}\n"


@pytest.mark.parametrize("names", list(commands(root)), ids=" ".join)
def test_every_command_explains_itself(
    cli: Cli, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = cli(*names, "--help")
    assert done == cli(*names, "-h")
    assert (done.code, done.err) == (0, "")
    usage, _, text = done.out.partition("\n\n")
    assert usage.startswith(f"Usage: {' '.join(('reviewdesk', *names))} ")
    # A sentence before the options: more than a name, and ended.
    sentence = " ".join(text.split("\n\n")[0].split())
    assert len(sentence.split()) >= 4
    assert sentence.endswith(".")
    if "Commands:" not in text:
        assert "--desk" in text
        assert "reviewdesk " in text.partition("--help")[2]
    assert [line for line in done.out.splitlines() if len(line) > 80] == []
    # A list of commands cuts a first sentence that is too long for one line.
    listed = text.partition("\nCommands:\n")[2].partition("\n\n")[0].splitlines()
    assert [line for line in listed if line.endswith("...") or not line.endswith(".")] == []
    # Whoever installed the wheel has no clone, and pastes the examples.
    for line in re.findall(r"^ +(?:Example: )?(reviewdesk .*)$", text, re.MULTILINE):
        assert_known(line)
        assert "sample_runs" not in line


WRONG = """
    frobnicate, --frobnicate, queue --frobnicate, queue surplus, label, label v1, label v1 maybe,
    ingest, runs frobnicate, desk verify --expect-head x, queue --order size,
    queue --filter nonsense:, labels export --format xml, calibrate --confidence luck,
    ingest r.json --threshold nan, ingest r.json --threshold 1.1, ingest r.json --quorum 0,
    ingest r.json --quorum 3/2, ingest r.json --quorum nan, ingest r.json --max-size x,
    ingest r.json --max-size 1, ingest r.json --strategy luck, ingest r.json --format docx"""


@pytest.mark.parametrize("command", mostly_slow([one.strip() for one in WRONG.split(",")]))
def test_wrong_usage_is_2(cli: Cli, write: Write, folder: Path, command: str) -> None:
    cli("ingest", write("report.json", numbered(3)))
    (folder / "r.json").write_bytes(numbered(3, report_id="new"))
    done = cli(*command.split())
    assert (done.code, done.out) == (2, "")
    assert done.err
    assert len(cli("runs", "--json").json) == 1


def test_what_click_quotes_is_harmless(cli: Cli) -> None:
    for arguments in (("--\x1b]0;owned\x07",), ("queue", "\x1b]0;owned\x07")):
        done = cli(*arguments)
        assert done.code == 2
        assert "owned" in done.err
        assert "\x1b" not in done.err
        assert "\x07" not in done.err


def test_open_off_a_terminal_prints_the_queue_by_filter_order_and_blindness(cli: Cli) -> None:
    opened = cli("open", SAMPLES / "support-bot.jsonl")
    assert opened.code == 0
    queue = cli("queue")
    assert opened.out == queue.out
    assert len(opened.out.splitlines()) == 1 + len(cli("queue", "--json").json) == 31
    assert cli("open").out == queue.out
    done = cli("open", SAMPLES / "support-bot.jsonl", "--filter", "esc", "--order=-score")
    assert done.out == cli("queue", "--filter", "esc", "--order", "-score").out
    assert 1 < len(done.out.splitlines()) < 30
    blind = cli("open", "--blind")
    assert blind.code == 0
    for row in cli("queue", "--json").json:
        line = next(line for line in blind.out.splitlines() if row["id"] in line.split())
        assert line.split() == ["-", row["id"], *row["test"].split()]


def test_the_exit_code_of_a_desk_that_is_not_whole(cli: Cli, write: Write) -> None:
    cli("ingest", write("report.json", numbered(3)))
    head = cli("desk", "verify", "--json").json["head"]
    cli("label", "v1", "pass")
    later = cli("desk", "verify", "--json").json["head"]
    assert cli("desk", "verify", "--expect-head", head).code == 0
    assert cli("desk", "verify", "--expect-head", later).code == 0
    assert cli("desk", "verify", "--expect-head", "3" + later[1:]).code == 1


def _edit(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.executescript(statement)


def test_full_verification_names_the_verdict(cli: Cli, write: Write, tmp_path: Path) -> None:
    desk = tmp_path / "own.db"
    cli("ingest", write("report.json", numbered(3)), "--desk", desk)
    assert cli("desk", "verify", "--full", "--desk", desk).out.startswith("whole: 1 events")
    _edit(desk, "UPDATE verdicts SET decision = 'pass' WHERE id = 'v0'")
    done = cli("desk", "verify", "--full", "--desk", desk)
    assert done.code == 1
    assert "run run: is not what was loaded; decision differs" in done.out
    assert "run run: verdict v0: decision is pass, and its body gives fail" in done.out


PLANTED: list[tuple[str, list[str]]] = [
    (
        """CREATE TRIGGER slow AFTER INSERT ON label_events BEGIN INSERT INTO drafts
           WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
           SELECT i, i, i FROM n; END""",
        ["the trigger slow is not reviewdesk's"],
    ),
    ("UPDATE runs SET header = 'x'", ["a value of a wrong kind"]),
    ("UPDATE bodies SET body = 'x'", ["is not what was loaded; body differs"]),
    ("UPDATE verdicts SET decision = 'x'", ["is not what was loaded; decision differs"]),
    (
        """UPDATE filters SET text = x'00', name = x'00'; UPDATE views SET state = x'00';
           UPDATE indexed_runs SET verdicts = 'x'""",
        [
            "filters.text holds a value of a wrong kind: 1 not",
            "filters.name holds a value of a wrong kind: 1 not",
            "views.state holds a value of a wrong kind: 1 not text",
            "indexed_runs.verdicts holds a value of a wr",
        ],
    ),
    (
        "UPDATE filters SET text = CAST(x'80' AS TEXT)",
        ["filters contains a value that is not text"],
    ),
    # JSON that is too deep for its parser.
    (f"UPDATE runs SET options = '{'[' * 2000}'", ["its header, counts, strata or figures"]),
    ("DROP TRIGGER label_events_fixed; UPDATE label_events SET seq = 'x'", ["is gone"]),
    (
        """PRAGMA writable_schema=ON; UPDATE sqlite_master
           SET sql = CAST(replace(sql, 'rank', x'cc') AS TEXT) WHERE name = 'verdicts'""",
        ["bytes that are not UTF-8"],
    ),
]


@pytest.mark.slow
def test_a_desk_that_was_tampered_with_is_one_line(cli: Cli, write: Write, tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    cli("ingest", write("report.json", numbered(3)), "--desk", whole)
    cli("filters", "save", "mine", "esc", "--desk", whole)
    cli("queue", "--filter", "text~answer", "--desk", whole)
    _edit(whole, "INSERT INTO views VALUES (1, 'ann', '{}')")
    for place, (planted, said) in enumerate(PLANTED):
        desk = tmp_path / f"{place}.db"
        shutil.copy(whole, desk)
        _edit(desk, planted)
        for command in (
            ("label", "v1", "pass"), ("show", "v1"), ("queue",), ("filters",), ("open",), ("runs",),
            ("queue", "--filter", "@mine"), ("queue", "--filter", "text~answer"), ("desk", "info"),
            ("calibrate",), ("labels", "list"),
            ("export", "report", "-o", tmp_path / f"out{place}.json"),
            ("desk", "backup", tmp_path / f"copy{place}.db"),
            ("desk", "merge", desk, "--desk", tmp_path / f"merged{place}.db"),
        ):  # fmt: skip
            done = cli("--desk", desk, *command)
            assert done.code in {0, 2}
            words = (*said, "UTF-8", "the desk is damaged", "Nothing of it was taken")
            assert done.code == 0 or any(one in done.lines[-1] for one in words), (command, done)
        checked = cli("desk", "verify", "--desk", desk)
        assert [one for one in said if one not in checked.out + checked.err] == []
        new = tmp_path / f"new{place}.db"
        assert cli("desk", "repair", "-o", new, "--desk", desk).code in {0, 1}


def test_a_name_like_the_desks_own_is_refused_everywhere(cli: Cli, write: Write) -> None:
    cli("ingest", write("report.json", numbered(3)))
    done = cli("label", "v1", "pass", "--reviewer", "@desk")
    said = "@desk: no reviewer's name begins with @. Use another name."
    assert (done.code, done.lines[0]) == (2, said)
    rows = write("labels.jsonl", b'{"id": "v1", "truth": "pass", "reviewer": "@desk"}\n')
    done = cli("labels", "import", rows)
    assert done.code == 2
    assert "@desk: no reviewer's name begins with @" in done.err


def test_a_backup_is_the_desk_over_again(cli: Cli, write: Write, tmp_path: Path) -> None:
    cli("ingest", write("report.json", numbered(3)))
    cli("label", "v1", "pass")
    head = cli("desk", "verify", "--json").json["head"]
    copy = tmp_path / "copy.db"
    assert cli("desk", "backup", copy).code == 0
    found = cli("--desk", copy, "desk", "verify", "--json", "--expect-head", head).json
    assert (found["ok"], found["events"], found["head"]) == (True, 2, head)
    assert cli("queue", "--json", "--desk", copy).json == cli("queue", "--json").json
    before = copy.read_bytes()
    again = cli("desk", "backup", copy)
    assert (again.code, len(again.lines)) == (2, 1)
    assert copy.read_bytes() == before


def test_desk_and_reviewer_stand_beside_the_command(cli: Cli, write: Write, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    cli("ingest", write("report.json", numbered(3)), "--desk", other)
    before = cli("--desk", other, "--reviewer", "ben", "label", "v1", "pass", "--json").json
    after = cli("label", "v2", "pass", "--json", "--desk", other, "--reviewer", "ben").json
    assert (before["reviewer"], after["reviewer"], after["seq"]) == ("ben", "ben", 2)
    assert cli("runs", "--json").code == 2


READING = """runs, queue, show v1, open, calibrate, calibrate --jurors, whatif, whatif v1, ask,
    compare a b, improve, labels list, labels export, labels agreement, label undo, label v1 pass,
    export report, export html, config filters, desk info, desk verify,
    desk verify --full, desk backup copy.db, desk share --private, rerun --give-up, serve,
    runs remove a"""


@pytest.mark.parametrize("command", [one.strip() for one in READING.split(",")])
def test_no_missing_desk_is_made(cli: Cli, desk_path: Path, tmp_path: Path, command: str) -> None:
    typo = tmp_path / "none" / "typo.db"
    for path, named in ((typo, ["--desk", typo]), (desk_path, [])):
        found = cli(*named, *command.split())
        assert (found.code, found.out) == (2, "")
        assert found.err.startswith(f"{path}: there is no desk. Name another with --desk")
        assert not path.exists()


def test_a_word_is_explained_and_an_unknown_one_is_a_usage_error(cli: Cli) -> None:
    done = cli("explain", "corrected", "rate")
    assert done.code == 0
    assert done.out.startswith("corrected rate: the pass rate corrected")
    (row,) = json.loads(cli("explain", "brier", "--json").out)
    assert (row["word"], row["group"]) == ("Brier", "Figures")
    assert "\nfails when    cases or rules change between runs" in cli("explain", "swings").out
    assert cli("explain", "juror", "--json").json[0]["method"] is None
    every = cli("explain").out
    for text in ("FIGURES", "FLAGS", "ECE  ", "one vote decides  ", "juror  "):
        assert text in every
    done = cli("explain", "sensitivty")
    assert (done.code, done.out) == (2, "")
    assert done.lines == ["no word 'sensitivty' is explained. Near: false fails, rules disagree."]
