import pytest
from textual.widgets import Input

from reviewdesk import file_output
from tests.live.builders import KEY


@pytest.fixture(autouse=True)
def a_plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the app draws depends on the test alone and not on the terminal that runs it."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("TEST_KEY", KEY)
    for name in ("NO_COLOR", "REVIEWDESK_THEME"):
        monkeypatch.delenv(name, raising=False)
    # The cursor of a field blinks by the wall clock.
    monkeypatch.setattr(Input, "_toggle_cursor", lambda _field: None)


@pytest.fixture(autouse=True)
def a_process_that_writes_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A console of a browser keeps its whole process from writing; here tests share one."""
    monkeypatch.setattr(file_output, "_allowed", {"machine": True})
