"""The published JSON Schema of ``reviewdesk.report/1``, generated from the types."""

from typing import Any

import msgspec

from reviewdesk.domain.report_model import HeaderModel, VerdictModel
from reviewdesk.reports.canonical.writer import FORMAT_NAME

_COMMENT = (
    "Checked in code: verdict ids are unique in a report and juror ids in a verdict; trim lists "
    "name existing jurors; times are RFC 3339; a quorum fraction is above 0 and at most 1. "
    "JSON Lines: the first line is $defs/HeaderModel, each further line one $defs/VerdictModel."
)


class ReportModel(HeaderModel, kw_only=True):
    """A whole report."""

    verdicts: list[VerdictModel]


def report_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12), with the JSON Lines header among its definitions."""
    (top, _), parts = msgspec.json.schema_components(
        [ReportModel, HeaderModel], ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT_NAME, **top,
        "$defs": parts, "$comment": _COMMENT,
    }  # fmt: skip
