"""Summarize a run in Markdown for a pull request: a few lines, then all figures to unfold."""

from __future__ import annotations

from collections.abc import Iterable

from reviewdesk.pages.markdown_document import section_markdown
from reviewdesk.pages.marktext import code, escaped
from reviewdesk.pages.parts import ListedVerdict, RunPage, parts
from reviewdesk.views.calibration import summary as calibration_summary
from reviewdesk.views.run import escalated, summary, title


def page(found: RunPage, listed: Iterable[ListedVerdict]) -> str:
    """Return counts, pass rates, gates and escalated verdicts, and below them every figure."""
    counts = summary(found.details)
    verdicts = escalated([(item, history.reruns) for item, history in listed], found.details)
    lines = [f"### Review of {code(title(found.details.run).text, 300)}", ""]
    for section in (counts, *calibration_summary(found.calibration).every, verdicts):
        lines += section_markdown(section, 4)
    for part in parts(found):
        lines += [f"<details><summary>{escaped(part.title)}</summary>", ""]
        for section in part.sections:
            lines += section_markdown(section, 4)
        lines += ["</details>", ""]
    return "\n".join(lines)
