"""Panel files that name a local server, for the tests of live re-runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.live.builders import KEY

__all__ = ["KEY", "NAMES", "panel_file"]

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
