"""Panel files that name a local server, for the tests of live re-runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reviewdesk.app.controllers.rerun import RerunForm
from reviewdesk.domain.records import View
from reviewdesk.settings import Settings
from tests.app.builders import open_run, report, verdict
from tests.app.reviewkit import Review
from tests.live.builders import KEY

__all__ = ["KEY", "NAMES", "NOWHERE", "broken", "form_of", "opened", "panel_file"]

NOWHERE = "http://127.0.0.1:9/v1"
FAILED: dict[str, Any] = {"id": "judge-2", "model": "m", "score": None, "error": {"message": "503"}}

NAMES = ("judge-0", "judge-1", "judge-2")


def panel_file(path: Path, url: str, names: Sequence[str] = NAMES, more: str = "") -> str:
    """A panel of jurors at ``url``, asked with the sentinel key; its path."""
    jurors = "\n".join(
        f"  - {{name: {name}, model: model-{name}, vendor: custom, base_url: '{url}', "
        f"api_key_env: TEST_KEY, timeout: 20}}"
        for name in names
    )
    rule = f"name: local\nthreshold: 0.7\nquorum: 0.5\n{more}jurors:\n{jurors}\n"
    path.write_text(rule, encoding="utf-8")
    return str(path)


def broken(number: int = 1) -> dict[str, Any]:
    """A verdict whose third juror failed."""
    body = verdict(number, (0.9, 0.8))
    return {**body, "jurors": [*body["jurors"], FAILED]}


def opened(folder: Path, *bodies: dict[str, Any], url: str = NOWHERE, **more: Any) -> Review:
    """A review in file order; the settings name a panel file at ``url``."""
    desk, run = open_run(folder / "d.db", report(bodies or (verdict(1), verdict(3))))
    settings = Settings(panel=panel_file(folder / "p.yaml", url))
    more = {"settings": settings, "view": View(order="file"), **more}
    return Review(desk, run, **more)


def form_of(review: Review) -> RerunForm:
    form: Any = review.dialog
    found = form.drawn.__self__
    assert isinstance(found, RerunForm)
    return found
