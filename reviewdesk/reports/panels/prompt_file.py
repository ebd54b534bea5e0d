"""Prompt files: what a juror is told, versioned, in a file that several panels may share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reviewdesk.domain.panel.slots import slots_in
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.panels.cells import Cell, present
from reviewdesk.reports.panels.source import opened, read_root

_KEYS = ("version", "system_prompt", "user_prompt_template")
_WHAT = "a prompt file"


@dataclass(frozen=True, slots=True)
class PromptFile:
    """One version of a prompt."""

    version: str
    template: str
    system: str | None = None


def read_prompt(path: str | Path) -> PromptFile:
    """Read a prompt file.

    Raises:
        PanelError: names file, line and place, what is wrong and what to do.
    """
    return prompt_from(opened(path, "a prompt's YAML file"))


def prompt_from(source: Source) -> PromptFile:
    """The prompt in bytes that are at hand."""
    root = read_root(source, _WHAT, "Write version: and user_prompt_template:.")
    cells = present(root.members(_WHAT, _KEYS))
    for key in ("version", "user_prompt_template"):
        if key not in cells:
            raise root.fail(f'has no "{key}"', f"Add {key}: to it.")
    system = cells.get("system_prompt")
    return PromptFile(
        version=cells["version"].name(80),
        template=template(cells["user_prompt_template"]),
        system=None if system is None else system.text(),
    )


def template(cell: Cell) -> str:
    """The template of a user's turn; one without the response would judge nothing."""
    text = cell.text()
    if "output" not in slots_in(text):
        hint = "Write {output} where the response under test is to stand."
        raise cell.fail("has no {output}, so the juror would not see the response", hint)
    return text
