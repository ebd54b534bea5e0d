import pytest

from reviewdesk.domain.run import window


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads of a thousand verdicts or so are read in a few windows."""
    monkeypatch.setattr(window, "SIZE", 500)
