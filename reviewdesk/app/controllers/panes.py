"""Which panes of the review are shown, and how many columns each has."""

from msgspec import Struct
from msgspec.structs import replace

WIDE = 140
"""The columns from which the three panes stand side by side."""
LEAST = {"queue": 20, "item": 44, "jury": 32}
"""The least columns of each pane, whatever sizes are chosen."""
SMALLEST = (40, 10)
"""The columns and lines below which nothing is shown but a note that says so."""

PANES = ("queue", "item", "jury")


class Panes(Struct, frozen=True):
    """Side by side on a wide terminal, else one at a time: queue, then item, then jury."""

    width: int = 80
    height: int = 24
    chosen: str | None = None
    zoomed: bool = False
    answer: bool = True
    """Whether there is a panel's answer to show; without it the jury has no pane."""
    queue: float | None = None
    jury: float | None = None
    """The shares of the width that were chosen for two panes; ``None`` is the default split."""

    @property
    def wide(self) -> bool:
        return self.width >= WIDE

    @property
    def tiny(self) -> bool:
        return self.width < SMALLEST[0] or self.height < SMALLEST[1]

    @property
    def alone(self) -> bool:
        return self.zoomed or not self.wide

    @property
    def names(self) -> tuple[str, ...]:
        return PANES if self.answer else PANES[:-1]

    @property
    def current(self) -> str:
        return self.chosen if self.chosen in self.names else "item"

    @property
    def readable(self) -> bool:
        return not self.alone or self.current != "queue"

    @property
    def shows_item(self) -> bool:
        return self.readable and not self.tiny

    def beside(self, by: int, *, around: bool = False) -> str:
        """Return the name of the pane one level deeper or back; empty at the end."""
        place = self.names.index(self.current) + by
        if around:
            place %= len(self.names)
        return self.names[place] if 0 <= place < len(self.names) else ""

    @property
    def columns(self) -> dict[str, int]:
        """The columns of the panes side by side; only the item gets the place of a hidden jury."""

        def between(least: int, wanted: float, most: int) -> int:
            return max(least, min(round(wanted), most))

        width = self.width
        room = width - 2
        wide = min(0.3 * width, 60)
        first = wide if self.queue is None else self.queue * width
        last = room - wide - 0.425 * width if self.jury is None else self.jury * width
        left = between(LEAST["queue"], first, room - LEAST["item"] - LEAST["jury"])
        if not self.answer:
            return {"queue": left, "item": width - 1 - left}
        right = between(LEAST["jury"], last, room - LEAST["item"] - left)
        return {"queue": left, "item": room - left - right, "jury": right}

    def sized(self, name: str, columns: int) -> "Panes":
        """Return the panes with this width for queue or jury, kept as a share of the terminal's."""
        made = self
        for _ in range(2):
            share = round(columns / self.width, 4)
            made = replace(self, **{name: share})
            columns = made.columns[name]
        return made
