"""The JSON of an archive that was put together: its counts, and the sums over all of its parts."""

from __future__ import annotations

from typing import Any

from reviewdesk.domain.archive.result import Archived
from reviewdesk.views.json.shape import plain, shape


def archived(made: Archived) -> dict[str, Any]:
    """Return the JSON of ``archive --json``."""
    return {
        **shape(
            made,
            "file=run.file format=run.format run=run.name new parts bad verdicts=run.whole "
            "held=run.verdicts ballots=run.ballots flagged=run.flagged audit=run.audit "
            "failed_ballots=run.failed_ballots unknown_ballots=stats.unknown_ballots "
            "skipped=run.skipped human_labels=run.human_labels seed=run.seed "
            "scores=stats.scores bins=stats.bins bin_passes=stats.bin_passes",
        ),
        "confusion": shape(made.stats.counts, "tp fn tn fp"),
        "jurors": [{"id": name, **plain(one)} for name, one in made.stats.jurors.items()],
        "notes": [*made.run.notes, *made.notes],
    }
