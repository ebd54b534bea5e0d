"""Texts from another file, joined by id to verdicts whose report has no texts."""

from collections.abc import Mapping

from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import ImportTally, failing
from reviewdesk.reports.mapping.conversation import answer, conversation, question
from reviewdesk.reports.mapping.secrets import without_likely
from reviewdesk.reports.mapping.values import label
from reviewdesk.reports.report import ReportVerdict
from reviewdesk.reports.sniff import recognise
from reviewdesk.reports.tables import table
from reviewdesk.reports.tables.cells import Cells, blank, roles_of
from reviewdesk.reports.tables.rows import layout_of

_KEPT = ("input", "output", "reference")
_HINT = "Name its columns as in id, input, output; or a column of messages."
_PLACES = ("observation", "span", "run", "record", "task", "result", "trace", "session")
"""The tool's ids that a row of texts may name, the most specific first."""


class JoinedTexts:
    """The texts of a table by id; ``used`` counts the verdicts that got texts."""

    def __init__(self, path: str) -> None:
        """Read a table of any shape; ReportError if it is none, or has no ids or no texts."""
        source = Source.from_path(path)
        fail = failing(source)
        self.name = source.shown_name
        self.used = 0
        look = recognise(source, table.DIALECT)[1]
        layout = layout_of(look)
        roles = {} if layout is None else roles_of(layout.columns)
        if layout is None or "item" not in roles or not {*_KEPT, "conversation"} & roles.keys():
            raise fail("", "has no columns of ids and of texts", _HINT)
        self._texts = {
            name: found
            for row in layout.read(source, fail, ImportTally(lenient=True))
            if (name := label(row.cells.get(roles["item"]))) and (found := _texts(row.cells, roles))
        }

    def filled(self, item: ReportVerdict) -> ReportVerdict:
        if not isinstance(item.value, dict):
            return item
        # The ids by which a row of texts may refer to a verdict, the most specific first.
        body = item.value
        origin = (body.get("meta") or {}).get("origin") or {}
        ids = [body.get("id"), *map(origin.get, _PLACES), (body.get("case") or {}).get("test")]
        known = (one for one in ids if isinstance(one, str) and one in self._texts)
        found = self._texts.get(next(known, ""), {})
        lacking = {key: text for key, text in found.items() if not body.get(key)}
        if not lacking:
            return item
        self.used += 1
        return item._replace(value={**body, **lacking}, text=None)

    def note(self) -> str:
        """Return how many verdicts got texts."""
        verdicts = f"{self.used:,} verdict{'s' * (self.used != 1)}"
        return f"{verdicts} got texts from {self.name}, which has {len(self._texts):,}"


def _texts(cells: Cells, roles: Mapping[str, str]) -> dict[str, str]:
    given = {role: cells.get(roles[role]) for role in (*_KEPT, "conversation") if role in roles}
    said = conversation(given.get("conversation"))
    readers = {"input": question, "output": answer, "reference": question}
    found = {
        role: read(given[role]) for role, read in readers.items() if not blank(given.get(role))
    }
    if said is not None:
        found = {"input": said.input, "output": said.output, **found}
    return {role: without_likely(text) for role, text in found.items() if text}
