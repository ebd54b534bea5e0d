from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def a_plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the app draws depends on the test alone and not on the terminal that runs it."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "REVIEWDESK_THEME"):
        monkeypatch.delenv(name, raising=False)
