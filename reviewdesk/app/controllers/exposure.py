"""What the panel has shown the reviewer in this session, which makes a later label not blind."""

from __future__ import annotations

from collections.abc import Sequence

from reviewdesk.app.controllers.session import Session
from reviewdesk.domain.records import Item


class Exposure:
    """Remembers whose panel was in view, and whose line stood in the queue in the open."""

    def __init__(self) -> None:
        """Nothing has been seen yet."""
        self._opened: set[str] = set()
        self._listed: set[int] = set()
        self._kept: set[int] = set()

    @property
    def seen(self) -> int:
        """How many lines of the queue have told of their panel."""
        return len(self._listed)

    def unkept(self) -> set[int]:
        """The verdicts seen since the last call, for the desk to remember."""
        found = self._listed - self._kept
        self._kept |= found
        return found

    def listed(self, session: Session, keys: Sequence[int]) -> None:
        """Lines came on screen: in the open, or under a hidden filter, they tell of the panel."""
        if not session.view.blind or session.hidden_query:
            self._listed.update(keys)

    def opened(self, session: Session) -> None:
        """An item came on screen, its panel with it unless that is hidden."""
        if session.item is not None and not session.hidden:
            self._opened.add(session.item.item_hash)
            self._listed.add(session.item.row.key)

    def labelled(self, item: Item) -> None:
        """A label was given, after which the panel's answer is told."""
        self._opened.add(item.item_hash)

    def is_blind(self, session: Session, item: Item) -> bool:
        """Whether a label given now is blind: nothing has told of this item's panel."""
        return (
            session.view.blind
            and item.revealed_at is None
            and not item.labelled_before
            and item.item_hash not in self._opened
            and item.row.key not in self._listed
            and not session.hidden_query
        )
