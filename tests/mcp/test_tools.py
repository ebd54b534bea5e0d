"""The tools that agents have: they read, write nothing, and give the project's own JSON."""

import json
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.desk.core import Access, Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.errors import DeskError, ReviewDeskError, UsageError
from reviewdesk.mcp import LONGEST_TEXT, MOST, DeskTools, part, whole
from reviewdesk.views.json import figures
from reviewdesk.views.json.review import queue_row
from tests.cli.gatekit import CALM, SPLIT, entry, suite
from tests.helpers import load, numbered, open_desk, report, verdict


def tools_of(path: Path, agent: str = "checker") -> DeskTools:
    def opened(writing: bool) -> Desk:
        return open_desk(path) if writing else Desk.open(path, reviewer="ann", access=Access.READ)

    return DeskTools(opened, path.parent, agent)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A desk with two runs."""
    path = tmp_path / "desk.db"
    with closing(open_desk(path)) as desk:
        load(desk, report(CALM, SPLIT, report_id="two"))
        load(desk, numbered(120, report_id="many"))
    return path


@pytest.fixture
def tools(path: Path) -> DeskTools:
    return tools_of(path)


def test_the_queue_comes_in_pages(tools: DeskTools, path: Path) -> None:
    first = tools.queue("many", limit=50)
    rows, page = list(first["rows"]), first
    while page["next"] is not None:
        page = tools.queue("many", offset=page["next"], limit=50)
        rows += page["rows"]
    with closing(open_desk(path)) as desk:
        run = desk.run("many")
        assert rows == [queue_row(run, row) for row in desk.rows(desk.queue(run))]
    assert (first["total"], len(rows)) == (120, 120)
    assert tools.queue("many", filter="esc", order="-score")["total"] == 30
    assert tools.queue("many", offset=500)["rows"] == []


def test_runs_show_calibrate_gate_as_commands(tools: DeskTools, path: Path, tmp_path: Path) -> None:
    assert [row["run"] for row in tools.runs()["rows"]] == ["two", "many"]
    assert tools.runs(offset=1)["rows"][0]["run"] == "many"
    shown = tools.show("split")
    assert (shown["id"], shown["run"], shown["flagged"]) == ("split", "two", True)
    assert tools.show("two:split", at="/output")["value"] == "answer split"
    with closing(open_desk(path)) as desk:
        made = figures.run_figures(calibration_page(desk, desk.run("two"), jurors=False))
    assert tools.calibrate("two")["design"] == made["design"] == "none"
    assert "jurors" in tools.calibrate("two", jurors=True)
    (tmp_path / "suite.yml").write_bytes(suite(entry("calm", "run: two", case="calm"), entry("s")))
    found = tools.gate("suite.yml")
    assert [one["status"] for one in found["entries"]] == ["pass", "error"]


def test_a_gate_reads_no_suite_outside_its_folder(tools: DeskTools, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("secret")
    outside = tmp_path.parent / f"{tmp_path.name}-outside.yml"
    outside.write_bytes(suite(entry()))
    (tmp_path / "link.yml").symlink_to(outside)
    for name in (f"../{outside.name}", str(outside), "link.yml", "notes.txt"):
        with pytest.raises(UsageError, match="no YAML file below the folder"):
            tools.gate(name)
    (tmp_path / "suite.yml").write_bytes(suite(entry()))
    with pytest.raises(UsageError, match="no report below the folder"):
        tools.gate("suite.yml", report=f"../{outside.name}")


def test_a_gate_checks_a_report_in_its_folder(tools: DeskTools, tmp_path: Path) -> None:
    (tmp_path / "suite.yml").write_bytes(suite(entry()))
    for body, status in ((CALM, "pass"), (SPLIT, "fail")):
        (tmp_path / "made.json").write_bytes(report(body))
        (found,) = tools.gate("suite.yml", report="made.json")["entries"]
        assert found["status"] == status


def test_reading_writes_nothing(tools: DeskTools, path: Path, tmp_path: Path) -> None:
    (tmp_path / "suite.yml").write_bytes(suite(entry("calm", "run: two", case="calm")))
    before, there = path.read_bytes(), sorted(tmp_path.iterdir())
    for read in (
        tools.runs, tools.queue, partial(tools.show, "split"), tools.calibrate,
        partial(tools.calibrate, jurors=True), partial(tools.gate, "suite.yml"),
    ):  # fmt: skip
        read()
        assert sorted(tmp_path.iterdir()) == there
    assert path.read_bytes() == before
    with pytest.raises(UsageError, match="not indexed yet"):
        tools.queue("many", filter="text~answer")


def test_a_desk_is_read_while_a_person_labels(tools: DeskTools, path: Path) -> None:
    with closing(open_desk(path)) as desk:
        run = desk.run("many")
        desk.label(desk.find(run, "v1"), _truth("fail"))
        assert tools.show("v1", "many")["label"] == "fail"
        desk.label(desk.find(run, "v2"), _truth("pass"))
        assert tools.queue("many", filter="label:pass")["total"] == 1


def test_an_error_says_what_to_do(tools: DeskTools, tmp_path: Path) -> None:
    for call, said in (
        (partial(tools.show, "gone"), "no verdict 'gone'"),
        (partial(tools.queue, "gone"), "gone"),
        (partial(tools.queue, filter="("), "column 1"),
        (partial(tools.queue, order="up"), "up"),
    ):
        with pytest.raises(ReviewDeskError, match=said):
            call()
    with pytest.raises(DeskError, match="there is no desk"):
        tools_of(tmp_path / "no.db").runs()
    assert not (tmp_path / "no.db").exists()


def test_a_hostile_text_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    long = "\x1b[2J\u202e" * 100_000
    with closing(open_desk(path)) as desk:
        load(desk, report(verdict("v", input=long, output=long)))
    shown = tools_of(path).show("v")
    places = {one["at"]: one["of"] for one in shown["cut"]}
    assert places["/output"] == len(long)
    assert shown["decision"] == "pass"


def _truth(word: str) -> Any:
    from reviewdesk.domain.records import Truth

    return Truth(word)


def test_what_fits_is_given_as_it_is() -> None:
    record = {"id": "a", "jurors": [{"reason": "r" * LONGEST_TEXT}], "score": 0.5, "label": None}
    assert whole(record) == record


def test_a_long_text_is_cut_and_read_on_by_its_place() -> None:
    text = "0123456789" * 20_000
    record = {"output": text, "jurors": [{"reason": text}, {"reason": "short"}]}
    cut = whole(record)
    assert cut["output"] == text[:LONGEST_TEXT]
    assert cut["cut"] == [
        {"at": "/output", "given": LONGEST_TEXT, "of": len(text)},
        {"at": "/jurors/0/reason", "given": LONGEST_TEXT, "of": len(text)},
    ]
    read, offset = "", 0
    while True:
        page = part(record, "/jurors/0/reason", offset)
        assert len(page["value"]) <= MOST
        read += page["value"]
        if page["next"] is None:
            break
        offset = page["next"]
    assert read == text


def test_a_long_list_is_cut_and_read_on() -> None:
    record = {"rows": [{"n": number, "t": f"{number:500}"} for number in range(1000)], "last": 1}
    made = whole(record)
    places = {one["at"]: (one["given"], one["of"]) for one in made["cut"]}
    assert places["/rows"] == (len(made["rows"]), 1000)
    # No room is left for the key that follows.
    assert places[""] == (1, 2)
    read: list[int] = []
    offset: int | None = 0
    while offset is not None:
        page = part(record, "/rows", offset)
        for one in page["cut"]:
            # The text that the room ended in is named by its place in the whole list.
            number = int(one["at"].split("/")[2])
            assert part(record, one["at"], 0)["value"] == f"{number:500}"
        read += [row["n"] for row in page["value"]]
        offset = page["next"]
    assert read == [*range(1000)]


def test_a_place_is_a_json_pointer() -> None:
    record = {"tags": {"a/b~c": ["x", "y"]}, "n": 1}
    assert part(record, "/tags/a~1b~0c", 1)["value"] == ["y"]
    for at in ("/n", "/tags", "/gone", "/tags/a~1b~0c/2", "/tags/a~1b~0c/-1", "tags"):
        with pytest.raises(UsageError, match="Name"):
            part(record, at, 0)
    # Past the end there is nothing, and nothing follows.
    assert part(record, "/tags/a~1b~0c", 9) == {
        "at": "/tags/a~1b~0c", "value": [], "of": 2, "next": None, "cut": []
    }  # fmt: skip


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.text(max_size=9)
    | st.just("z" * 9999),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=5), JSON))
def test_no_result_is_larger_than_allowed(record: dict[str, object]) -> None:
    made = whole(record)
    # The places that were cut are named with numbers and brackets of JSON around them.
    assert len(json.dumps(made, ensure_ascii=False)) < 2 * MOST
