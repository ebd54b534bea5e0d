"""Check a panel file before any juror is asked."""

from __future__ import annotations

from collections.abc import Mapping

from reviewdesk.domain.panel.composition import PanelCheck, composition
from reviewdesk.domain.verdict import Generator
from reviewdesk.live.keys import PROCESS, is_malformed
from reviewdesk.reports.panels.panel_file import read_panel


def check_panel(
    path: str, environment: Mapping[str, str] = PROCESS, generator: Generator | None = None
) -> PanelCheck:
    """Read a panel file, and find which of its jurors' keys are missing or malformed.

    Raises:
        PanelError: the file cannot be used.
    """
    found = composition(read_panel(path), generator)
    wanted = dict.fromkeys(seat.key_variable for seat in found.seats if seat.key_variable)
    wanted |= dict.fromkeys(name for one in found.spec.jurors for name in one.headers.values())
    missing = tuple(name for name in wanted if not environment.get(name, "").strip())
    malformed = tuple(name for name in wanted if is_malformed(environment.get(name, "")))
    return PanelCheck(path, found, missing, malformed)
