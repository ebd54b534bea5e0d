"""One registry: bindings, footer, palette and help say the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.command import DiscoveryHit

from reviewdesk.app.actions import ACTIONS, app_bindings, screen_bindings
from reviewdesk.app.palette import RegistryProvider
from reviewdesk.app.screens.help import HelpScreen
from reviewdesk.app.widgets.lines import Pane
from tests.app.appkit import SMALL, WIDE, open_run, report, staged, verdict


def test_every_binding_has_an_id_and_a_tooltip_and_no_key_is_bound_twice() -> None:
    bindings = [*screen_bindings(), *app_bindings()]
    assert {binding.id for binding in bindings} == {a.id for a in ACTIONS.values() if a.keys}
    assert all(binding.tooltip for binding in bindings)
    keys = [key for binding in bindings for key in binding.key.split(",")]
    assert len(keys) == len(set(keys))


async def test_help_lists_exactly_the_active_bindings(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1)]))
    for size in (WIDE, SMALL):
        async with staged(desk if size == WIDE else desk.reader(), run, size=size) as stage:
            active = stage.review.active_bindings
            wanted = {(entry.binding.id, key) for key, entry in active.items()}
            assert {name for name, _ in wanted} == {a.id for a in ACTIONS.values() if a.keys}
            assert all(entry.tooltip for entry in active.values())
            await stage.press("question_mark")
            screen = stage.app.screen
            assert isinstance(screen, HelpScreen)
            assert {(a.id, key) for a, keys in screen.active for key in keys} == wanted
            text = screen.query_one(Pane).text
            assert all(ACTIONS[name or ""].title in text for name, _ in wanted)
            await stage.press("escape")


async def test_every_action_is_in_the_palette_and_runs_from_it(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1), verdict(2)]))
    async with staged(desk, run) as stage:
        provider = RegistryProvider(stage.review)
        hits = [hit async for hit in provider.discover() if isinstance(hit, DiscoveryHit)]
        titles = {hit.display for hit in hits}
        assert titles == {a.title for a in ACTIONS.values() if a.id != "palette"}
        for name in ACTIONS:
            if name not in {"palette", "quit", "quit.anywhere"}:
                stage.clock.wait(1.0)
                stage.review.action_do(name)
                await stage.settle()
                while len(stage.app.screen_stack) > 1:
                    await stage.press("escape")
        await stage.press("ctrl+p", *"ansi-light", "enter", "enter")
        assert stage.app.theme == "ansi-light"


async def test_every_key_does_its_action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1), verdict(2)]))
    async with staged(desk, run) as stage:
        done: list[str] = []
        monkeypatch.setattr(stage.review.hands, "do", done.append)
        for action in ACTIONS.values():
            if action.keys and action.id not in {"palette", "quit.anywhere"}:
                await stage.press(*action.keys.split(","))
                assert done == [action.id] * len(action.keys.split(","))
                done.clear()
