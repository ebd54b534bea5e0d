"""The JSON of several reviewers: their work, their agreement, and where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reviewdesk.domain.labels.team import Disagreement, TeamPage
from reviewdesk.domain.records import Run
from reviewdesk.views.json.shape import plain, shape


def team(run: Run, page: TeamPage) -> dict[str, Any]:
    """Return how the people of a run work and agree."""
    return {"run": run.name, **shape(page)}


def disagreements(run: Run, found: Sequence[Disagreement]) -> list[dict[str, Any]]:
    """Return the verdicts on which people differ."""
    keys = "id item_hash decision score opinions adjudication"
    return [{"run": run.name, **plain(shape(one, keys))} for one in found]


def synced(found: Any) -> dict[str, Any]:
    """Return what was exchanged with a shared place."""
    return shape(found, "place taken sent head chains runs refused notes")
