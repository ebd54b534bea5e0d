"""From a key in the environment to re-runs of the shipped samples, over sockets of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from reviewdesk.desk.live.rerun import JURORS
from reviewdesk.desk.live.rerun_history import of_item
from reviewdesk.domain.panel.vendors import VENDORS
from reviewdesk.live.wires.vendors import endpoint
from reviewdesk.views.live.rerun import asked
from tests.helpers import load, open_desk
from tests.live.builders import KEY
from tests.live.server import Server
from tests.rerunkit import ready, run

SAMPLES = Path(__file__).parents[3] / "sample_runs"
REPORTS = [
    "support-bot.jsonl", "support-bot-second-panel.jsonl", "code-review.json", "release-notes.json",
    "library-desk.jsonl", "hostile.json",
]  # fmt: skip
KEYS = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}


def holds_nowhere(folder: Path, key: str) -> bool:
    return all(key.encode() not in one.read_bytes() for one in folder.iterdir())


@pytest.fixture(autouse=True)
def no_address_is_remembered() -> Iterator[None]:
    """Addresses are worked out once for each juror, so those of a test are forgotten."""
    endpoint.cache_clear()
    yield
    endpoint.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTS)
async def test_every_verdict_of_a_sample_is_asked_about_by_its_jurors(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for vendor in VENDORS.values():
        if vendor.key_env:
            monkeypatch.delenv(vendor.key_env, raising=False)
    for variable in KEYS:
        monkeypatch.setenv(variable, KEY)
    async with Server() as server:
        for vendor_name, wire in list(VENDORS.items()):
            monkeypatch.setitem(VENDORS, vendor_name, replace(wire, base_url=server.url))
        with closing(open_desk(tmp_path / "desk.db")) as desk:
            loaded = load(desk, (SAMPLES / name).read_bytes(), name)
            keys = list(desk.queue(loaded, "", "file"))
            found = ready(desk, keys, JURORS, environment=KEYS, shown="")
            summary = await run(desk, found, environment=KEYS)
            assert summary.left == 0
            assert len(summary.done) == len(found.keys) == len(keys)
            assert len(server.calls) == found.plan.calls
            for key in found.keys:
                [made] = [one for one in of_item(desk, desk.item(key)) if one.plan]
                assert made.rerun.kept_its_panel
                assert made.rerun.assessment.decision == "pass"
            # Consent names every panel that is asked, not that of the first verdict alone.
            told = asked(found.asked)
            names = {found.prepared(desk, key).seats.panel.name for key in found.keys}
            assert all(one in told for one in names)
    assert {call.key for call in server.calls} == {KEY}
    assert holds_nowhere(tmp_path, KEY)
