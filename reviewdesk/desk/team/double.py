"""The share of items that two people label, which holds for everybody on a desk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reviewdesk.domain.labels.chain import DESK
from reviewdesk.store import reviewer
from reviewdesk.store.connect import writing
from reviewdesk.store.explain import explained

if TYPE_CHECKING:
    from reviewdesk.desk.open_file import OpenFile

_NAME = "double"


def double_share(desk: OpenFile, given: float | None = None) -> float:
    """Return the desk's share of items that two people label, after replacing it by ``given``.

    A desk that cannot be written keeps what it has, and the share holds for this session alone.
    """
    with explained(desk.path):
        stored = reviewer.kept_settings(desk.conn, DESK).get(_NAME, "0")
    if given is None:
        return _share(stored)
    if json.dumps(float(given)) != stored and not desk.read_only:
        with writing(desk.conn, desk.path):
            reviewer.keep_settings(desk.conn, DESK, {_NAME: json.dumps(float(given))})
    return given


def _share(stored: str) -> float:
    """Return a stored share; one that is none counts as 0."""
    try:
        found = json.loads(stored)
    except (ValueError, RecursionError):
        return 0.0
    return found if isinstance(found, float) and 0 <= found <= 1 else 0.0
