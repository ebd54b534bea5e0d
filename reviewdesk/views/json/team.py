"""The JSON of several reviewers: their work, their agreement, and where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reviewdesk.domain.labels.team import Disagreement, TeamPage
from reviewdesk.domain.records import Run
from reviewdesk.views.json.shape import shape


def team(run: Run, page: TeamPage, found: Sequence[Disagreement]) -> dict[str, Any]:
    """Return how the people of a run work and agree, and the verdicts on which they differ."""
    keys = "id item_hash decision score opinions adjudication"
    differing = [shape(one, keys) for one in found]
    return {"run": run.name, **shape(page), "disagreements": differing}


def synced(found: Any) -> dict[str, Any]:
    """Return what was exchanged with a shared place."""
    return shape(found, "place taken sent head chains runs refused notes")
