"""Find what is wrong with the settings of a file, by a pydantic model of all settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, ValidationError, create_model

from reviewdesk.settings.records import SETTINGS
from reviewdesk.settings.wording import near, quoted, toml_text

_FIELDS: dict[str, Any] = {
    setting.name: (Annotated[Any, AfterValidator(setting.read)], None) for setting in SETTINGS
}
SettingsModel = create_model(
    "SettingsModel",
    __config__=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False),
    **_FIELDS,
    keys=(dict[str, str | list[str]], {}),
)
"""The table of a settings file, with the actions under ``keys`` by their whole names."""


def problem_of(table: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the name, the problem and the hint of the first setting that is wrong."""
    try:
        SettingsModel.model_validate(table)
    except ValidationError as error:
        paths = [one["loc"] for one in error.errors()]
    names = [*_FIELDS, "keys"]
    name, *inner = min(paths, key=lambda path: [*table].index(str(path[0])))
    value = table[str(name)]
    name = str(name)
    if name not in names:
        if name == "hundreds":
            return name, "the page after each hundred labels is gone", "Take the line out."
        hint = near(name, names, f"Settings: {', '.join(names)}.")
        return name, f"there is no setting {quoted(name)}", hint
    if name != "keys":
        wanted = next(setting.wanted for setting in SETTINGS if setting.name == name)
        # Somebody may have written the key itself.
        found = "" if name.startswith("api_key") else f", found {toml_text(value)}"
        problem = f"{name} must be {wanted}{found}"
        return name, problem, "Mend it, or take the line out."
    if not inner:
        problem = f"keys must be a table, found {toml_text(value)}"
        return name, problem, 'Write [keys], and below it defer = "s".'
    action = str(inner[0])
    problem = (
        f"{action} must be a key or a list of keys in quotes, found {toml_text(value[action])}"
    )
    return f"keys.{action}", problem, f'As in: "{action}" = ["p", "1"].'
