"""The views for people's own SQL have the columns of the page, on new desks and on old ones."""

import json
import re
import shlex
from contextlib import closing

import pytest
from click.testing import CliRunner
from sqlite_utils.cli import cli as sqlite_utils

from reviewdesk.desk.core import Desk
from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.labels.sampling import STRATA
from reviewdesk.domain.records import Truth
from reviewdesk.store import verification
from tests.docs.pages import DOCS
from tests.helpers import load, open_desk, report, set_back, undraw_contents, verdict

PAGE = (DOCS / "reference" / "desk-file.md").read_text(encoding="utf-8")
VIEWS = ("labels", "verdicts_flat", "ballots")


@pytest.fixture
def desk(desk: Desk) -> Desk:
    run = load(desk, report(verdict("a", 0.9, 0.2), verdict("b", 0.8, 0.9)))
    desk.label(desk.find(run, "a"), Truth.FAIL, note="late", tags=("refund",))
    return desk


def columns(desk: Desk, view: str) -> list[str]:
    return [row["name"] for row in desk.conn.execute(f"PRAGMA table_info({view})")]


def test_the_page_lists_the_columns_of_each_view(desk: Desk) -> None:
    for view in VIEWS:
        section = PAGE.split(f"## {view}\n")[1].split("\n## ")[0]
        rows = re.findall(r"^\| (`.*?`) \| ", section, re.MULTILINE)
        assert sorted(re.findall("`(.*?)`", " ".join(rows))) == sorted(columns(desk, view)), view


def test_the_commands_of_the_page_run(desk: Desk) -> None:
    for line in PAGE.splitlines():
        if line.startswith("sqlite-utils query desk.db "):
            words = shlex.split(line)[1:]
            done = CliRunner().invoke(sqlite_utils, [words[0], str(desk.path), *words[2:]])
            assert done.exit_code == 0, done.output


def test_the_views_say_what_the_queue_says(desk: Desk) -> None:
    run = desk.run()
    for row in desk.rows(desk.queue(run)):
        found = desk.conn.execute(
            "SELECT * FROM verdicts_flat WHERE key = ?", (row.key,)
        ).fetchone()
        assert (found["run"], found["id"], found["decision"]) == (run.name, row.id, row.decision)
        assert found["flags"].split() == [flag.label for flag in Flag if flag in row.flags]
        assert sorted(found["flags"].split()) == sorted(one.label for one in row.flags)
        assert (found["score"], found["band"], found["output"]) == (
            row.score, row.band, desk.item(row.key).verdict.body["output"],
        )  # fmt: skip
    assert {row["stratum"] for row in desk.conn.execute("SELECT stratum FROM verdicts_flat")} <= {
        *STRATA
    }
    [label] = desk.conn.execute("SELECT * FROM labels").fetchall()
    assert (label["label"], label["author"], label["run"], label["verdict"]) == (
        "fail", "ann", run.name, "a",
    )  # fmt: skip
    assert (label["note"], json.loads(label["tags"])) == ("late", ["refund"])
    assert label["item_hash"] == label["item"].hex()
    seats = desk.conn.execute("SELECT juror, score FROM ballots WHERE verdict_id = 'a'").fetchall()
    assert [tuple(row) for row in seats] == [("j1", 0.9), ("j2", 0.2)]


def test_a_desk_of_the_schema_before_gets_the_views_when_it_is_opened(desk: Desk) -> None:
    made = {view: columns(desk, view) for view in VIEWS}
    undraw_contents(desk.conn)
    set_back(desk.conn, "draw_contents")
    with closing(open_desk(desk.path)) as again:
        assert {view: columns(again, view) for view in VIEWS} == made
        assert verification.layout_problems(again.conn) == ([], [])
