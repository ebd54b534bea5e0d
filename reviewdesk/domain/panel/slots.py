"""The slots of a juror's template: which there are, and what a person should know of them."""

from __future__ import annotations

import re

CASE_SLOTS = ("input", "output", "alternative", "reference", "rubric")
"""What every case can fill; a case's context may fill others."""

SLOT_NAME = re.compile(r"[^{}]{1,80}\Z")
"""What a context may call a slot; braces would end it."""

_SLOT = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def slots_in(template: str) -> tuple[str, ...]:
    """The slots of a template that are named as a word, each once, in their order.

    Other braces are as likely an example of JSON.
    """
    return tuple(dict.fromkeys(_SLOT.findall(template)))
