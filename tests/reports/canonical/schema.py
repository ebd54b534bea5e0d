"""The published JSON Schema of ``reviewdesk.report/1``, generated from the models."""

from __future__ import annotations

from typing import Any

from reviewdesk.reports.canonical.models import HeaderModel, VerdictModel
from reviewdesk.reports.canonical.writer import FORMAT_NAME

_COMMENT = (
    "Checked in code: verdict ids are unique in a report and juror ids in a verdict; trim lists "
    "name existing jurors; times are RFC 3339; a quorum fraction is above 0 and at most 1. "
    "JSON Lines: the first line is $defs/HeaderModel, each further line one $defs/VerdictModel."
)


class ReportModel(HeaderModel):
    """A whole report."""

    verdicts: list[VerdictModel]


def report_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12), with the JSON Lines header among its definitions."""
    schema = ReportModel.model_json_schema(by_alias=True)
    header = HeaderModel.model_json_schema(by_alias=True)
    header.pop("$defs", None)
    schema["$defs"]["HeaderModel"] = header
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": FORMAT_NAME,
        **_without_defaults(schema),
        "$comment": _COMMENT,
    }


def _without_defaults(node: Any) -> Any:
    """Return the schema without the models' defaults, which do not belong to the format."""
    if isinstance(node, list):
        return [_without_defaults(child) for child in node]
    if not isinstance(node, dict):
        return node
    return {
        key: (
            {name: _without_defaults(child) for name, child in value.items()}
            if key in ("properties", "$defs")
            else _without_defaults(value)
        )
        for key, value in node.items()
        if key != "default"
    }
