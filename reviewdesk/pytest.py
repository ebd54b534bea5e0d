"""The plugin of pytest: its fixture ``reviewdesk_gate`` checks juries and judges by a suite.

pytest loads this module at every start, so it imports nothing of the project until a test asks
for the fixture.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.gates.expect import SuiteResult

__all__ = ["Gate", "reviewdesk_gate"]


@dataclass(frozen=True, slots=True)
class Gate:
    """Runs suites of gates for one test; paths are relative to the root folder of pytest."""

    node: pytest.Item
    folder: Path

    def __call__(
        self,
        suite: str | Path,
        *,
        report: str | Path | None = None,
        against: str | Path | None = None,
        baseline: str | Path | None = None,
        margin: float | None = None,
        desk: str | Path | None = None,
        require_representative: bool = False,
    ) -> "SuiteResult":
        """Run a suite, fail the test as ``reviewdesk gate`` would, and return what was found.

        ``report`` is the report that the panel of today wrote: the suite's labels are joined to it,
        and ``jury:`` entries check it in place of what they name. With ``against``, the report of
        the panel before, its panel may lose at most ``margin`` to that one and to the first, which
        is the one that was labelled, or the one of the report ``baseline``. ``desk`` holds the runs
        that entries name; by default it is the user's own.
        """
        from reviewdesk.desk.files import source
        from reviewdesk.desk.gates.suite import run_suite
        from reviewdesk.domain.safetext import show
        from reviewdesk.errors import ExitCode, ReviewDeskError
        from reviewdesk.views.gates import doubt_lines, text

        problem = ""
        with ExitStack() as stack:
            try:
                new, parent, first = (
                    None if one is None else source(str(self._placed(one)))
                    for one in (report, against, baseline)
                )
                found = run_suite(
                    str(self._placed(suite)),
                    lambda: _desk(stack, None if desk is None else self._placed(desk)),
                    report=new,
                    against=parent,
                    baseline=first,
                    margin=margin,
                )
            except ReviewDeskError as error:
                problem = str(error)
        if problem:
            pytest.fail(show(problem), pytrace=False)
        doubts = doubt_lines(found, strict=require_representative)
        *lines, counted = text(found, strict=require_representative)
        # pytest's summary of all tests shows only the first line.
        told = show("\n".join([counted, *lines, *found.errors, *doubts]), 1_000_000)
        if found.exit_code(strict=require_representative) is not ExitCode.OK:
            pytest.fail(told, pytrace=False)
        self.node.add_report_section("call", "reviewdesk gate", told)
        return found

    def _placed(self, path: str | Path) -> Path:
        """Return the path of a file, relative to the folder where pytest was started if in it."""
        whole = self.folder / path
        here = Path.cwd()
        return whole.relative_to(here) if whole.is_relative_to(here) else whole


def _desk(stack: ExitStack, named: Path | None) -> "Desk":
    """Open the desk that holds the runs; raise NotFoundError rather than create one."""
    from contextlib import closing

    from reviewdesk.desk.core import Desk, damage_explained, existing

    path = existing(named, "Name it with desk=, or use report:.")
    desk = stack.enter_context(closing(Desk.open(path)))
    stack.enter_context(damage_explained(desk.path))
    return desk


@pytest.fixture
def reviewdesk_gate(request: pytest.FixtureRequest) -> Gate:
    """Check the juries and judges of a run by a suite: ``reviewdesk_gate("judge/suite.yml")``.

    The test fails with what ``reviewdesk gate`` prints, and passes where it would exit with 0.
    """
    node: pytest.Item = request.node
    return Gate(node, request.config.rootpath)
