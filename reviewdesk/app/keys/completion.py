"""Completion of filters and command arguments, from what the desk holds."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from functools import lru_cache

from reviewdesk.app.controllers.session import Session
from reviewdesk.app.keys.commands import Completer, among, choose, files, last_of_list
from reviewdesk.app.theme.names import THEMES
from reviewdesk.desk import Desk
from reviewdesk.desk.review import filters, marks
from reviewdesk.domain.query.completion import (
    Completion,
    Option,
    Vocabulary,
    complete,
    complete_order,
)


def argument_completers(desk: Desk, session: Session) -> dict[str, Completer]:
    """Return completers by command name; the filter's words are read from the desk once, on use."""

    @lru_cache(maxsize=1)
    def known() -> Vocabulary:
        return filters.vocabulary(desk, session.run)

    def saved() -> Iterable[Option]:
        return [Option(name, text) for name, text in filters.saved(desk).items()]

    return {
        "filter": lambda text, cursor: complete(text, cursor, known()),
        "order": complete_order,
        "forget": among(saved),
        "tag": last_of_list(lambda: marks.known_tags(desk)),
        "run": among(lambda: [Option(run.name, run.file) for run in desk.runs()]),
        "compare": among(
            lambda: [Option(r.name, r.file) for r in desk.runs() if r.hash != session.run.hash]
        ),
        "theme": among(lambda: [Option(name) for name in THEMES]),
        "open": files,
        "export": files,
        "rerun": lambda text, cursor: _complete_rerun(session, text, cursor),
    }


def _complete_rerun(session: Session, text: str, cursor: int) -> Completion:
    """Complete who is asked, a juror's name after ``juror``, and then a panel file."""
    item, head = session.item, text[:cursor]
    lead = len("shown ") if head.startswith("shown ") else 0
    words = head[lead:].split(" ")
    if len(words) == 1:
        who = [Option("missing"), Option("panel"), Option("juror", "and its name")]
        all_ = [] if lead else [Option("shown", "all that the filter shows")]
        return choose(lead, cursor, words[0], [*who, *all_])
    if words[0] == "juror" and len(words) == 2:
        shown = item is not None and not session.hidden
        names = dict.fromkeys(cast.id for cast in item.verdict.ballots) if item and shown else ()
        return choose(
            lead + len("juror "), cursor, words[1], [Option(shlex.quote(n)) for n in names]
        )
    found = files(words[-1], len(words[-1]))
    start = cursor - len(words[-1])
    return Completion(start, cursor, found.options)
