"""The JSON of ``pace``: how a reviewer's work on a run goes."""

from __future__ import annotations

from typing import Any

from reviewdesk.domain.labels.work import WorkPage
from reviewdesk.domain.records import Run
from reviewdesk.views.json.shape import shape


def work(run: Run, reviewer: str, page: WorkPage) -> dict[str, Any]:
    """Return the page of pace."""
    return {"run": run.name, "reviewer": reviewer, **shape(page)}
