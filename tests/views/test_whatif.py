"""What other rules would have decided, of a run and of an item."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reviewdesk.app.paint.document import document_lines
from reviewdesk.cli.plain import document_text, section_text
from reviewdesk.desk.figures.whatif import what_if
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import Rounding
from reviewdesk.domain.whatif import Variant
from reviewdesk.pages.markdown import document_markdown
from reviewdesk.views import whatif
from reviewdesk.views.document import Document
from tests.helpers import opened, verdict


def table(
    path: Path, *verdicts: dict[str, Any], asked: Sequence[Variant] | None = None
) -> Document:
    desk, run = opened(path, *verdicts)
    return whatif.what_if(what_if(desk, run, asked))


def item(path: Path, *scores: float | None, **more: Any) -> Item:
    desk, run = opened(path, verdict("one", *scores, **more))
    return desk.item(desk.find(run, "one"))


def text(one: Item) -> list[str]:
    return section_text(whatif.item_what_if(one)).splitlines()


def test_figures_give_way_whole(tmp_path: Path) -> None:
    found = table(tmp_path, verdict("one", 0.9, 0.9, 0.0))
    heads = {width: document_lines(found, width)[1].plain.split() for width in (30, 45, 79)}
    assert heads[79] == ["flips", "none", "pass", "n", "acc", "Brier", "ECE"]
    assert heads[45] == ["flips", "none", "pass", "n"]
    assert heads[30] == ["flips"]


def test_the_table_says_what_it_rests_on(tmp_path: Path) -> None:
    drawn = document_text(
        table(tmp_path, verdict("one", 0.9, 0.9, 0.8), verdict("votes", score=None))
    )
    assert "no labels" in drawn
    assert "need labels that say pass or fail" in drawn
    # A trim of nothing stands once, whatever its rounding.
    assert drawn.count(" 0 % ") == 1


def test_an_empty_run_is_one_line(tmp_path: Path) -> None:
    found = whatif.what_if(what_if(*opened(tmp_path)))
    assert document_text(found) == "The run has no verdicts."


def test_groups_stand_in_two_columns_with_their_figures_under_each_other(tmp_path: Path) -> None:
    lines = document_lines(table(tmp_path, verdict("one", 0.9, 0.9, 0.0)), 160)
    left = [line.plain[:78] for line in lines]
    heads = [line for line in left if "flips" in line and "none" in line]
    assert [line.split("  ")[0] for line in heads] == ["", "RULE", "QUORUM", "THRESHOLD"]
    assert len({line.index("flips") for line in heads}) == 1
    assert "TRIMMED MEAN" in lines[0].plain
    # The mean 0.6 passes 0.6 as it stands; without labels the rest is undefined.
    assert [line.split() for line in left if line.startswith("● mean")] == [
        ["●", "mean", "0", "0", "1.000", "0", "-", "-", "-"]
    ]


def test_marks_stand_apart_from_names_in_markdown(tmp_path: Path) -> None:
    lines = [*document_markdown(table(tmp_path, verdict("one", 0.9, 0.9, 0.0)))]
    assert any(line.startswith("| ● **mean** | 0 |") for line in lines)
    assert any(line.startswith("| lowest | **1** |") for line in lines)


def test_policies_that_were_asked_for_have_their_whole_names(tmp_path: Path) -> None:
    asked = (Variant(threshold=0.65, dropped="j3"), Variant(rounding=Rounding.UP))
    lines = document_text(table(tmp_path, verdict("one", 0.9, 0.9, 0.0), asked=asked)).splitlines()
    names = [line[2:].split("  ")[0] for line in lines[4:7]]
    assert names == ["Policy", "threshold 0.65, without j3", "up"]


def test_what_turns_an_item_is_named_by_what_it_becomes(tmp_path: Path) -> None:
    # Mean (0.9 + 0.9 + 0.3) / 3 = 0.7 against 0.6; by the worst alone it would be 0.3.
    one = item(tmp_path, 0.9, 0.9, 0.3)
    assert text(one)[0].startswith("WHAT IF  what would turn this pass")
    # Two of three are 0.67 rounded and two thirds exactly; at 0.8 the mean falls short.
    assert text(one)[1:] == ["quorum        fail: 0.75, 0.8, 1", "threshold     fail: 0.8, 0.9"]


def test_a_juror_and_a_trim_that_turn_an_item(tmp_path: Path) -> None:
    # Mean 0.724 fails 0.75; a trim of one at each end gives 0.81, and so does leaving out j1: 0.83.
    one = item(
        tmp_path, 0.30, 0.78, 0.81, 0.84, 0.89,
        threshold=0.75, decision="fail", score=0.724,
    )  # fmt: skip
    trimmed, quorum, threshold, without = text(one)[1:]
    # Down, 10 % of five is half a juror and cuts none; up it cuts one.
    assert trimmed == "trimmed mean  pass: 10 % up, 20 %, 30 %, 40 %"
    # By votes at 0.6 as stated, four of five pass.
    assert quorum == "quorum        pass: 0.5, 0.6, 2/3, 0.67, 0.75, 0.8"
    assert threshold == "threshold     pass: 0.5, 0.6, 0.7"
    assert without == "without       pass: j1"


def test_an_item_that_nothing_turns(tmp_path: Path) -> None:
    assert "None of these turns the decision" in text(item(tmp_path, 1.0, 1.0, 1.0))[1]


def test_a_verdict_that_is_none_is_turned_into_either(tmp_path: Path) -> None:
    one = item(tmp_path, 0.9, 0.2, decision="inconclusive")
    assert "what would turn this no decision" in text(one)[0]
    assert any("pass: " in line for line in text(one)[1:])
    assert any("fail: " in line for line in text(one)[1:])
