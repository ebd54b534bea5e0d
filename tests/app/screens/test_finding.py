"""Search, jumps, saved filters and the command line, on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from textual.widgets import Input

from reviewdesk.app.screens.prompt import PromptField
from reviewdesk.desk import Desk
from reviewdesk.desk.review import filters
from reviewdesk.domain.query.tokens import EXAMPLE, RULE
from reviewdesk.domain.records import Run, View
from tests.app.appkit import SMALL, WIDE, Stage, juror, open_run, report, staged, verdict

Opened = tuple[Desk, Run]


def bodies() -> list[dict[str, Any]]:
    """Ten items: two tell of a refund in the response, one in a juror's reason alone."""
    said = {3: "No refund is due.", 7: "A refund was paid."}
    found = [verdict(i, output=said.get(i, f"answer {i}")) for i in range(1, 11)]
    found[4]["jurors"][0] = juror("judge-0", 0.9, reason="mentions the refund policy")
    return found


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return open_run(tmp_path / "desk.db", report(bodies()))


async def typed(stage: Stage, key: str, text: str) -> None:
    await stage.press(key)
    await stage.write(text)
    await stage.press("enter")


async def seen(stage: Stage, presses: int, key: str = "n") -> set[str | None]:
    found = {stage.current}
    for _ in range(presses):
        await stage.press(key)
        found.add(stage.current)
    return found


@pytest.mark.parametrize("size", [WIDE, SMALL], ids=str)
async def test_search_goes_through_what_it_found_and_round(
    opened: Opened, size: tuple[int, int]
) -> None:
    async with staged(*opened, size=size, view=View(order="file")) as stage:
        await typed(stage, "slash", "refund")
        assert await seen(stage, 2) == {"item/003", "item/005", "item/007"}
        first = stage.current
        assert "3 with refund" in stage.drawn()
        await stage.press("n")
        assert stage.current != first
        await stage.press("N")
        assert stage.current == first
        assert not any(row.label for row in opened[0].rows(opened[0].queue(opened[1])))


async def test_a_found_word_is_in_view_and_marked(tmp_path: Path) -> None:
    long = verdict(1, output="\n".join([*["filler"] * 200, "here is the needle", "end"]))
    async with staged(*open_run(tmp_path / "d.db", report([long])), size=SMALL) as stage:
        assert "needle" not in stage.drawn()
        await typed(stage, "slash", "needle")
        assert "here is the needle" in stage.drawn()
        lines = stage.review.panes.text("item").painted
        line = next(content for content in lines if "needle" in content.plain)
        assert any(span.style == "found" for span in line.spans)


async def test_blind_search_knows_nothing_of_reasons(opened: Opened) -> None:
    async with staged(*opened, view=View(blind=True, order="file")) as stage:
        await typed(stage, "slash", "refund")
        assert await seen(stage, 3) == {"item/003", "item/007"}
        assert "2 with refund" in stage.drawn()


async def test_what_was_found_in_the_open_is_forgotten_in_a_blind_session(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await typed(stage, "slash", "policy")
        assert stage.current == "item/005"
        await stage.press("b", "n")
        assert "nothing was searched for yet" in stage.drawn()


async def test_nothing_found_and_nothing_asked_say_so(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await stage.press("n")
        assert "nothing was searched for yet: / searches" in stage.drawn()
        await typed(stage, "slash", "zebra")
        assert "nothing found for zebra" in stage.drawn()
        await typed(stage, "backslash", "id~003")
        await stage.press("slash", *"refund", "enter")
        assert "1 of 1 with refund · 2 outside this filter" in stage.drawn()


async def test_jumps_by_row_and_by_id(opened: Opened) -> None:
    async with staged(*opened, view=View(order="file")) as stage:
        await typed(stage, "colon", "4")
        assert stage.current == "item/004"
        await typed(stage, "colon", "go item/009")
        assert stage.current == "item/009"
        await typed(stage, "colon", "go 99")
        assert "The queue has 10 rows" in stage.drawn()
        assert stage.current == "item/009"


async def test_commands_do_what_keys_do(opened: Opened) -> None:
    desk, run = opened
    async with staged(desk, run) as stage:
        await typed(stage, "colon", "filter id~00")
        assert len(stage.review.session.keys) == 9
        await typed(stage, "colon", "order -id")
        assert stage.review.session.view.order == "-id"
        await typed(stage, "colon", "tag Wrong Policy, tone")
        await typed(stage, "colon", "note as I see it")
        item = stage.review.session.item
        assert item is not None
        assert (item.tags, item.note) == (("wrong-policy", "tone"), "as I see it")
        await typed(stage, "colon", "cal")
        assert stage.app.top.where == "calibration"
        await typed(stage, "colon", "undo")
        assert stage.app.top.where == "review"
        item = stage.review.session.item
        assert item is not None
        assert item.note is None
        await typed(stage, "colon", "filter")
        assert len(stage.review.session.keys) == 10


async def test_a_command_that_cannot_be_read_stays_and_completes(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await typed(stage, "colon", "fliter")
        assert isinstance(stage.app.screen, PromptField)
        assert "Did you mean filter" in stage.drawn()
        await stage.press(*["backspace"] * 6, *"ord", "tab")
        assert stage.app.screen.query_one(Input).value == "order"
        await stage.press("space", *"sco", "tab", "enter")
        assert stage.review.session.view.order == "score"


async def test_what_was_left_with_esc_is_brought_back_by_the_arrow(opened: Opened) -> None:
    async with staged(*opened) as stage:
        for key, text in (("colon", "go it"), ("backslash", "esc lab"), ("slash", "re")):
            await stage.press(key, *text, "escape", key)
            assert stage.app.screen.query_one(Input).value == ""
            await stage.press("up")
            assert stage.app.screen.query_one(Input).value == text
            await stage.press("escape")
        await stage.press("t", *"ton", "escape", "t")
        assert stage.app.screen.query_one(Input).value == "ton"
        await stage.press("escape")
        assert stage.review.session.view.filter == ""


async def test_a_filter_is_completed_saved_recalled_and_forgotten(opened: Opened) -> None:
    desk, _ = opened
    async with staged(*opened, size=SMALL) as stage:
        await stage.press("backslash", *"label:n", "tab")
        # How words are put together, with an example, is on screen whatever is typed.
        assert f"{RULE}: {EXAMPLE}" in stage.drawn()
        assert stage.app.screen.query_one(Input).value == "label:none"
        await stage.press("enter")
        await typed(stage, "colon", "save todo")
        assert filters.saved(desk) == {"todo": "label:none"}
        await typed(stage, "colon", "filter")
        await typed(stage, "backslash", "@todo")
        assert stage.review.session.view.filter == "label:none"
        await typed(stage, "colon", "forget @todo")
        assert filters.saved(desk) == {}
        await stage.press("backslash", "@", "x", "enter")
        assert isinstance(stage.app.screen, PromptField)
        await stage.press("escape")


async def test_arrows_recall_what_was_typed_before(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await typed(stage, "colon", "order id")
        await typed(stage, "colon", "order -id")
        await stage.press("colon", "up", "up")
        assert stage.app.screen.query_one(Input).value == "order id"
        await stage.press("down")
        assert stage.app.screen.query_one(Input).value == "order -id"
        await stage.press("escape")


async def test_labels_leave_by_a_command(opened: Opened, tmp_path: Path) -> None:
    target = tmp_path / "labels.jsonl"
    async with staged(*opened) as stage:
        await stage.press("p", "f")
        await typed(stage, "colon", f"export {target}")
        assert "2 rows written" in stage.drawn()
        assert len(target.read_text(encoding="utf-8").splitlines()) == 2
        await typed(stage, "colon", f"export {target}")
        assert "is there already" in stage.drawn()
        await typed(stage, "colon", f"export {target.with_suffix('.yaml')}")
    rows = yaml.safe_load(target.with_suffix(".yaml").read_text(encoding="utf-8"))
    assert [row.keys() for row in rows] == [{"confidence", "correct"}] * 2


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("run.json", '{"schema":"reviewdesk.report/1"'),
        ("run.report.jsonl", '{"schema":"reviewdesk.report/1"'),
        ("run.html", "<!doctype html>"),
        ("run.md", "### Review of `run`"),
    ],
)
async def test_a_run_leaves_by_a_command(
    opened: Opened, tmp_path: Path, name: str, start: str
) -> None:
    target = tmp_path / name
    async with staged(*opened) as stage:
        await typed(stage, "colon", f"export {target}")
        await stage.settle()
        assert target.read_text(encoding="utf-8").startswith(start)
        assert stage.review._notice.text.endswith(f"{name}: written")
        await typed(stage, "colon", f"export {target}")
        assert "is there already" in stage.review._notice.text


async def test_what_is_drawn_is_what_a_label_means_also_where_the_view_is_not_kept(
    opened: Opened,
) -> None:
    async with staged(*opened, size=SMALL, view=View(order="file")) as stage:
        assert "answer 1" in stage.drawn()
        stage.desk.conn.execute("DROP TABLE views")
        await typed(stage, "backslash", "id~item/008")
        assert stage.current == "item/008"
        assert "answer 8" in stage.drawn()
        # A path as long as a test's leaves no room for what follows it.
        assert "no such table" in stage.review._notice.text


@pytest.mark.parametrize(
    ("target", "said"),
    [("~no-such-user/x.jsonl", "there is no such home folder"), ("x" * 300, "xxx…")],
    ids=["home", "long"],
)
async def test_a_path_that_cannot_be_is_one_line(opened: Opened, target: str, said: str) -> None:
    async with staged(*opened) as stage:
        await typed(stage, "colon", f"export {target}")
        assert said in stage.drawn()


async def test_the_index_is_built_in_the_background_and_told_of(opened: Opened) -> None:
    desk, run = opened
    from reviewdesk.desk.review import search

    assert search.indexed(desk, run) < 1
    async with staged(desk, run) as stage:
        await stage.settle()
        assert search.indexed(desk, run) == 1
        assert stage.app.jobs.text == ""
