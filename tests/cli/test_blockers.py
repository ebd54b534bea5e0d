"""The shell names the item that labels wait behind, and closes it once it was deferred twice."""

import json
from contextlib import closing
from pathlib import Path

from reviewdesk.domain.records import Truth
from tests.cli.conftest import Cli
from tests.desk.figures.test_calibration_honest import run_of
from tests.helpers import open_desk


def test_the_shell_names_what_blocks_and_closes_it(cli: Cli, desk_path: Path) -> None:
    desk_path.parent.mkdir(parents=True, exist_ok=True)
    with closing(open_desk(desk_path)) as desk:
        run = run_of(desk)
        keys = [*desk.queue(run, "", "draw")]
        name = desk.rows(keys[:1])[0].id
        for key in keys[1:25]:
            desk.label(key, Truth.PASS)
    assert f"Decide {name}: until then, 24 labels do not count." in cli("calibrate").out
    assert cli("calibrate", "--json").json["blockers"] == [{"id": name, "waiting": 24}]
    assert f"decide {name}: until then, 24 labels do not count" in cli("labels", "export").err
    refused = cli("defer", name, "--close")
    assert refused.code == 2
    assert f"{name}: you have not deferred it twice" in refused.err
    for _ in range(2):
        assert cli("defer", name).code == 0
    closed = cli("defer", name, "--close", "--json")
    assert closed.code == 0
    assert json.loads(closed.out)["label"] == "unsure"
    assert cli("calibrate", "--json").json["blockers"] == []
