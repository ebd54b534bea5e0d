"""Which panel answers the reviewer has seen in a session: later labels on them are not blind."""

from __future__ import annotations

from collections.abc import Sequence

from reviewdesk.app.controllers.session import Session
from reviewdesk.domain.records import Item


class Exposure:
    """Remembers which items and which queue rows were on screen with the panel's answer shown."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self._opened: set[str] = set()
        self._listed: set[int] = set()
        self._stored: set[int] = set()

    @property
    def seen(self) -> int:
        """The number of verdicts whose panel answer has been on screen."""
        return len(self._listed)

    def unkept(self) -> set[int]:
        """Return the keys of the verdicts seen since the last call, for the desk to store."""
        found = self._listed - self._stored
        self._stored |= found
        return found

    def listed(self, session: Session, keys: Sequence[int]) -> None:
        """Record rows drawn on screen, if they or the query reveal the panel's answers."""
        if not session.view.blind or session.hidden_query:
            self._listed.update(keys)

    def opened(self, session: Session) -> None:
        """Record that the current item came on screen, unless its panel is hidden."""
        if session.item is not None and not session.hidden:
            self._opened.add(session.item.item_hash)
            self._listed.add(session.item.row.key)

    def labelled(self, item: Item) -> None:
        """Record that an item was labelled, after which the panel's answer is shown."""
        self._opened.add(item.item_hash)

    def is_blind(self, session: Session, item: Item) -> bool:
        """Return True if a label given now is blind: its panel's answer has not been seen."""
        return (
            session.view.blind
            and item.revealed_at is None
            and not item.labelled_before
            and item.item_hash not in self._opened
            and item.row.key not in self._listed
            and not session.hidden_query
        )
