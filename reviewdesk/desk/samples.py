"""The sample runs that come with the program, and a desk prepared with them."""

from pathlib import Path

from msgspec.structs import replace

from reviewdesk.desk import files
from reviewdesk.desk.core import Desk
from reviewdesk.desk.labels import transfer
from reviewdesk.domain.records import Run

_FIRST = "support-bot.jsonl"
_SECOND = "support-bot-second-panel.jsonl"
_LABELLED = "library-desk.jsonl"
_TRUTH = "library-desk-truth.jsonl"


def folder() -> Path:
    """Return the folder of the sample runs: in the installed package, in a clone beside it."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "sample_runs"
    return inside if inside.is_dir() else package.parent / "sample_runs"


def prepare(desk: Desk) -> Run:
    """Load the samples, one with labels by ``sample``; return the run to review first."""
    where = folder()
    run, _, labelled = (
        desk.load(files.source(str(where / name))).run for name in (_FIRST, _SECOND, _LABELLED)
    )
    truths = [replace(row, reviewer="sample") for row in files.labels(str(where / _TRUTH))]
    transfer.import_labels(desk, labelled, truths)
    return run
