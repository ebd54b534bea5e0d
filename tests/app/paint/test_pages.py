"""What stands in place of an item once the queue is decided."""

from pathlib import Path

from reviewdesk.app.keys.actions import ACTIONS, OF_MACHINE, Keymap
from reviewdesk.app.paint.frame import done_lines, nothing_lines
from reviewdesk.desk.figures.strip import Strip
from tests.app.builders import verdict
from tests.app.reviewkit import session_on


def test_a_finished_queue_offers_no_export_to_a_browser(tmp_path: Path) -> None:
    session = session_on(tmp_path, verdict(1))
    keymap = Keymap.of(ACTIONS)
    here, there = (
        "\n".join(content.plain for content in done_lines(session, Strip(), keys, 100))
        for keys in (keymap, keymap.without(OF_MACHINE))
    )
    assert ":export labels.jsonl" in here
    assert "export" not in there
    assert "how far the judge can be trusted" in there


def test_a_run_without_verdicts_says_where_to_go_from_here(tmp_path: Path) -> None:
    session = session_on(tmp_path)
    keymap = Keymap.of(ACTIONS)
    here, there = (
        [content.plain for content in nothing_lines(session, keys, 100)]
        for keys in (keymap, keymap.without(OF_MACHINE))
    )
    assert here[0] == there[0] == "This run has no verdicts."
    assert here[2:] == ["f5 shows the other runs.", ":open FILE and enter loads a report."]
    assert there[2:] == here[2:3]
