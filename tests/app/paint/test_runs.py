"""The runs screen as it is drawn."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import Lines
from reviewdesk.domain.run.details import RunLine
from reviewdesk.views.run import run, run_lines
from tests.helpers import verdict
from tests.views.test_run import THREE, loaded, text


def drawn(
    line: RunLine, width: int, cursor: int = 1, chosen: str = "", blind: bool = False
) -> Lines:
    return document_lines(run_lines([line], at=(cursor, chosen), blind=blind), width)


def test_a_line_of_the_list_leaves_out_what_it_has_no_room_for(tmp_path: Path) -> None:
    line, _ = loaded(tmp_path, *THREE)
    # Three verdicts, one flagged, one labelled.
    # W = .03 + .43 + .04 over N = 8, M2 = 3.53 - 8 * .5875² = .76875: alpha 1 - .0625 / .10982.
    whole = ["run", line.run.hash[:8], "3", "1", "1", "0.431", line.run.file]
    # The file goes first, then hash, alpha and the flagged; the counts of verdicts stay.
    left_out: list[str] = []
    for width, gone in ((160, ""), (58, whole[-1]), (46, whole[1]), (37, "0.431")):
        left_out += [gone]
        _, row = drawn(line, width)
        assert row.plain.split() == [one for one in whole if one not in left_out]
    [head, row] = drawn(line, 160, blind=True)
    assert row.plain.split() == ["run", "3", "1", line.run.file]
    assert "flagged" not in head.plain


def test_the_marks_need_no_colour(tmp_path: Path) -> None:
    line, _ = loaded(tmp_path, *THREE)
    starts = [
        drawn(line, 78, cursor=cursor, chosen=run)[1].plain[:4]
        for cursor in (1, 0)
        for run in ("", line.run.hash)
    ]
    assert starts == ["    ", "  ● ", "▸   ", "▸ ● "]


def twin(number: int, *, other: bool) -> dict[str, Any]:
    if not other or not number:
        return verdict(f"v{number}", 0.9, 0.8, 0.7)
    return verdict(
        f"v{number}", 0.1, None, 0.2, 0.3, flagged=True, decision="fail", score=None, band="low",
        bias_warning="kin",
    )  # fmt: skip


@pytest.mark.parametrize("width", [78, 158])
@pytest.mark.parametrize("labels", [0, 1])
def test_blind_twins_draw_the_same(tmp_path: Path, labels: int, width: int) -> None:
    found = [
        loaded(tmp_path / str(other), *(twin(i, other=other) for i in range(9)), labels=labels)
        for other in (False, True)
    ]
    lines = []
    for line, details in found:
        one = drawn(line, width, blind=True, cursor=0, chosen=line.run.hash)
        same = replace(details, desk="the desk")
        lines.append([*one, *document_lines(run(same, blind=True), width)])
    assert lines[0] == lines[1]
    in_the_open = [text(replace(details, desk="the desk")) for _, details in found]
    assert in_the_open[0] != in_the_open[1]
    assert drawn(found[0][0], 158) != drawn(found[1][0], 158)
