"""Which actions the footer offers at this moment, the most used first."""

from __future__ import annotations

from collections.abc import Mapping

from reviewdesk.app.controllers.session import Session
from reviewdesk.app.paint.item import pages


def review_hints(
    session: Session, deeper: str, back: str, *, readable: bool
) -> Mapping[str, object]:
    """Actions of the review screen; a text replaces the registry's word, false leaves out.

    ``deeper`` and ``back`` name the panes next to the one that has the keys; a label is offered
    where the item is ``readable``.
    """
    item, found = session.item, session.found
    has_item = item is not None
    labels = has_item and readable
    return {
        **dict.fromkeys(("label.pass", "label.fail", "label.unsure"), labels),
        "reveal": has_item and session.hidden,
        "deeper": deeper,
        "shallower": back,
        "text.next": item is not None and pages(item) > 1,
        "search.next": bool(found and found.places),
        "next": True,
        "undo": True,
        "help": True,
        "quit": True,
        "defer": has_item,
        "note": has_item,
        "tags": has_item,
        "filter": True,
        "search": True,
        "blind": "open" if session.view.blind else True,
        "screen.calibration": True,
        "screen.runs": True,
        "mark": has_item,
        "order": True,
        "history": has_item,
        "diff": has_item and not session.hidden,
        "rerun": has_item and not session.hidden,
        "command": True,
        "back": True,
        "copy.json": has_item,
    }
