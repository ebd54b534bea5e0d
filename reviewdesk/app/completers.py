"""What completes the arguments of commands and the filter, from what the desk knows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from reviewdesk.app.commands import Completer, among, files, last_of_list
from reviewdesk.app.sitting import Sitting
from reviewdesk.app.themes import THEMES
from reviewdesk.desk import filters, marking
from reviewdesk.domain.completion import Option, Vocabulary, complete, complete_order


def argument_completers(sitting: Sitting) -> dict[str, Completer]:
    """A completer for each command that has one; the desk is asked once, when it is needed."""
    desk = sitting.desk

    @lru_cache(maxsize=1)
    def known() -> Vocabulary:
        return filters.vocabulary(desk, sitting.session.run)

    def saved() -> Iterable[Option]:
        return [Option(name, text) for name, text in filters.saved(desk).items()]

    return {
        "filter": lambda text, cursor: complete(text, cursor, known()),
        "order": complete_order,
        "forget": among(saved),
        "tag": last_of_list(lambda: marking.known_tags(desk)),
        "run": among(lambda: [Option(run.name, run.file) for run in desk.runs()]),
        "theme": among(lambda: [Option(name) for name in THEMES]),
        "open": files,
        "export": files,
    }
