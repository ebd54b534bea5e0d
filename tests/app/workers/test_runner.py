"""Jobs run beside the screen: starting one takes no longer for what it is given."""

from contextlib import closing
from pathlib import Path

import pytest
from textual.app import App

from reviewdesk.app.app import WorkerRunner
from reviewdesk.app.controllers.jobs import Job, Report
from reviewdesk.desk import Desk
from tests.helpers import open_desk


class Work:
    """A job that holds so much that it must not be written out."""

    done = False

    def __call__(self, _desk: Desk, _report: Report) -> None:
        self.done = True

    def __repr__(self) -> str:
        pytest.fail("a job was written out")


async def test_a_job_is_not_written_out_when_it_starts(tmp_path: Path) -> None:
    app: App[None] = App()
    with closing(open_desk(tmp_path / "desk.db")) as desk:
        async with app.run_test():
            work = Work()
            WorkerRunner(app, desk, lambda tell: tell()).start(Job("job", work, lambda *_: None))
            await app.workers.wait_for_complete()
    assert work.done
