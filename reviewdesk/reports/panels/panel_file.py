"""Read and write panel files and prompt files (YAML or TOML): the jurors, and their rule."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeAlias
from urllib.parse import urlsplit

import yaml
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from reviewdesk.domain import values
from reviewdesk.domain.jury.rules import least_answered, own_share
from reviewdesk.domain.panel.juror import Juror, Price, reserved_key
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec
from reviewdesk.domain.panel.vendors import ADDRESSED, OTHER_NAMES, VENDORS, likely_vendor
from reviewdesk.domain.verdict import Regime, Rounding, Strategy, without_nulls
from reviewdesk.errors import PanelError, UsageError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.panels.prices import price_of
from reviewdesk.reports.panels.source import opened, parsed
from reviewdesk.reports.validation import (
    FILLED,
    KEY_FOR_A_NAME,
    MEND,
    Fraction,
    Positive,
    Strict,
    Unit,
    Wanted,
    validated,
)
from reviewdesk.reports.wording import FieldError, JsonObject, holds_key, keylike, must_be

FROM_ENVIRONMENT = "Keys come from the environment; name the variable with api_key_env."
KEY_HINT = "Write the variable's name, such as OPENAI_API_KEY, and keep the key in it."

RESERVED_HEADERS: Final = frozenset({
    "authorization", "x-api-key", "api-key", "host", "connection", "content-type", "content-length",
    "content-encoding", "transfer-encoding", "accept", "accept-encoding", "expect", "upgrade",
})  # fmt: skip
"""The headers that every request sets itself, in lower case."""

MAX_EXTRA: Final = 10_000
"""The most characters of ``extra`` as JSON."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z", re.ASCII)
_REFERENCE = re.compile(r"@[A-Za-z0-9_-]{1,64}\Z", re.ASCII)
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z", re.ASCII)


def variable(value: object) -> object:
    """Return the name of an environment variable; the error does not show the value."""
    if value is None:
        return None
    if not isinstance(value, str) or keylike(value) or not _VARIABLE.match(value):
        problem = "must be the name of a variable of the environment (the value is not shown)"
        raise FieldError((), problem, KEY_HINT)
    return value


def reference(value: object) -> object:
    """Return the name of a key in the user's settings; the error does not show the value."""
    if value is None or (isinstance(value, str) and _REFERENCE.match(value)):
        return value
    problem = "must be a reference such as @openai (the value is not shown)"
    raise FieldError((), problem, FROM_ENVIRONMENT)


def _extra(value: JsonObject | None) -> JsonObject | None:
    _no_key_names(value)
    if taken := reserved_key(value or {}):
        problem = "is written by the program, so extra must not set it"
        raise FieldError((taken,), problem, "Leave it out, or use the juror's own key for it.")
    if holds_key(value):
        raise FieldError((), "has what looks like an API key in it (not shown)", FROM_ENVIRONMENT)
    try:
        size = len(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        raise FieldError((), "contains a value that JSON does not have", MEND) from None
    if size > MAX_EXTRA:
        raise FieldError((), f"is longer than {MAX_EXTRA:,} characters", MEND)
    return value


def _headers(value: object) -> object:
    """Return headers with the variables that hold their values; no value is shown."""
    if value is None:
        return None
    if not isinstance(value, dict):
        problem = "must be a mapping of headers to variables (the value is not shown)"
        raise FieldError((), problem, KEY_HINT)
    for name, named in value.items():
        if not isinstance(name, str) or keylike(name) or not _HEADER.match(name):
            raise FieldError((), "has a name that a header cannot have (not shown)", MEND)
        if name.lower() in RESERVED_HEADERS:
            hint = "Name the variable of a key with api_key_env, and leave the rest out."
            raise FieldError((name,), "is a header that the program writes", hint)
        if not (isinstance(named, str) and _REFERENCE.match(named)):
            try:
                variable(named if named is not None else 0)
            except FieldError as error:
                raise error.within(name) from None
    return {name.lower(): named for name, named in value.items()}


BodyKeys: TypeAlias = Annotated[JsonObject | None, AfterValidator(_extra)]
HeaderNames: TypeAlias = Annotated[dict[str, str] | None, BeforeValidator(_headers)]

MAX_JURORS = 100

STRATEGIES = tuple(one.value for one in Strategy if one not in {Strategy.SINGLE, Strategy.EXTERNAL})
"""The strategies that a panel can use; the other two occur only in reports."""

_TEXTS = frozenset({
    "name", "rubric", "model", "base_url", "system_prompt", "prompt", "prompt_file", "version",
    "user_prompt_template", "deployment", "api_version",
})  # fmt: skip
"""The keys whose values are texts, even if they look like numbers."""

_URL_HINT = "Write the endpoint alone, such as https://host.example/v1."
_QUORUM = 'a number above 0 and at most 1, or a fraction such as "2/3"'
_SUPERMAJORITY = 'a share over 1/2 and at most 1, or a fraction such as "2/3"'
_MINIMUM = 'a count, such as 3, or a share, such as 0.6 or "2/3"'
_ADDRESS = re.compile(r"[!-\[\]-~]+")
"""Visible ASCII without the backslash, which clients read in different ways."""


def _line(limit: int) -> AfterValidator:
    """Return a validator of a text on one line; it will be printed, so it must not be a key."""

    def line(value: str) -> str:
        text = value.strip()
        if keylike(text):
            raise FieldError((), "looks like an API key (not shown)", FROM_ENVIRONMENT)
        if not 0 < len(text) <= limit or not text.isprintable():
            expected = f"a text on one line of 1 to {limit} characters"
            raise FieldError((), must_be(expected, value), MEND)
        return text

    return AfterValidator(line)


def _template(text: str) -> str:
    if "{output}" not in text:
        hint = "Write {output} where the response under test belongs."
        raise FieldError((), "has no {output}, so the juror would not see the response", hint)
    return text


def _base_url(text: str) -> str:
    """Return an address; an error never quotes it."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        raise FieldError((), "is not an address", _URL_HINT) from None
    start = "must be an address with http:// or https:// and a host (the value is not shown)"
    for wrong, problem in (
        (parts.scheme not in {"http", "https"} or not host, start),
        ("@" in parts.netloc, "has a user or a password in it (not shown)"),
        ("?" in text or "#" in text, "has a query or a fragment (not shown)"),
        (
            len(text) > 500 or not _ADDRESS.fullmatch(text),
            "has characters that are not allowed, or too many (not shown)",
        ),
        (keylike(text), "has what looks like an API key in it (not shown)"),
    ):
        if wrong:
            raise FieldError((), problem, _URL_HINT)
    return text


def _share(check: Callable[[str, object], object]) -> BeforeValidator:
    """Return a validator that keeps a share as written if ``check`` accepts it."""

    def share(value: object) -> object:
        if value is None:
            return None
        # A fraction of a hundred digits is not a share, and it is slow to parse.
        if len(str(value)) > 20:
            raise ValueError
        try:
            check("share", value)
        except (UsageError, OverflowError) as error:
            raise ValueError from error
        return value

    return BeforeValidator(share)


def _no_key_names(named: JsonObject | None) -> JsonObject | None:
    if any(map(keylike, named or ())):
        raise FieldError((), KEY_FOR_A_NAME, FROM_ENVIRONMENT)
    return named


Text: TypeAlias = Annotated[str, FILLED, Wanted("a text that is not empty")]
Template: TypeAlias = Annotated[Text, AfterValidator(_template)]
Address: TypeAlias = Annotated[Text, AfterValidator(_base_url)]
Tokens: TypeAlias = Annotated[
    int, Field(ge=1, le=1_000_000), Wanted("a whole number from 1 to 1000000")
]
PerMinute: TypeAlias = Annotated[
    int, Field(ge=1, le=1_000_000_000), Wanted("a whole number from 1 to 1000000000")
]
Seconds: TypeAlias = Annotated[
    float, Field(gt=0, le=3600), Wanted("a number of seconds above 0 and at most 3600")
]
Usd: TypeAlias = Annotated[
    float,
    Field(ge=0, le=1_000_000),
    Wanted("a number of US dollars per million tokens, 0 to 1000000"),
]
Warmth: TypeAlias = Annotated[float, Field(ge=0, le=2), Wanted("a number from 0 to 2")]
VendorName: TypeAlias = Annotated[
    str,
    Wanted("a known vendor", known=tuple(VENDORS)),
    BeforeValidator(lambda word: OTHER_NAMES.get(word, word) if isinstance(word, str) else word),
]
StrategyName: TypeAlias = Annotated[str, Wanted("a known strategy", known=STRATEGIES)]
RegimeName: TypeAlias = Annotated[str, Wanted("a known regime", known=tuple(Regime))]
RoundingName: TypeAlias = Annotated[str, Wanted("a known rounding", known=tuple(Rounding))]
Labels: TypeAlias = Annotated[
    list[Annotated[str, FILLED, Wanted("a label")]] | None,
    Wanted("a list of labels, such as [KEEP, REJECT]"),
]
StandIn: TypeAlias = Annotated[str, Wanted("median, or left out", known=(Strategy.MEDIAN,))]


class PanelPart(Strict):
    """A mapping in a panel or prompt file."""

    shape: ClassVar[str] = "a mapping"
    secret_hint: ClassVar[str] = FROM_ENVIRONMENT
    retired: ClassVar[Mapping[str, str]] = {}
    """The keys of earlier versions, each with what to do instead."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_retired(cls, stated: Any) -> Any:
        for key, hint in cls.retired.items():
            if isinstance(stated, Mapping) and key in stated:
                raise FieldError((key,), "is a key of earlier versions", hint)
        return stated


class PriceModel(PanelPart):
    """What a model's tokens cost."""

    what = "a price"

    input: Usd
    output: Usd
    cached: Usd | None = None


class TrimEntry(PanelPart):
    """How many scores are left out at each end."""

    what = "a trim"

    fraction: Fraction = Field(None, serialization_alias="trim")
    rounding: RoundingName | None = None


class JurorEntry(PanelPart):
    """One seat of a panel."""

    what = "a juror"
    retired: ClassVar[Mapping[str, str]] = {
        "reasoning": "Write the vendor's own key, such as extra: {reasoning_effort: low}."
    }

    name: Annotated[str, _line(80)] | None = None
    model: Annotated[str, _line(200)]
    vendor: VendorName | None = None
    base_url: Address | None = None
    api_key_env: Annotated[str | None, BeforeValidator(variable)] = None
    api_key: Annotated[str | None, BeforeValidator(reference)] = None
    weight: Positive | None = None
    temperature: Warmth | None = None
    max_tokens: Tokens | None = None
    system_prompt: Text | None = None
    prompt: Template | None = None
    prompt_file: Annotated[str, _line(1000)] | None = None
    timeout: Seconds | None = None
    rpm: PerMinute | None = None
    tpm: PerMinute | None = None
    price: PriceModel | None = None
    extra: BodyKeys = None
    headers: HeaderNames = None
    deployment: Annotated[str, _line(200)] | None = None
    api_version: Annotated[str, _line(40)] | None = None
    samples: Annotated[int, Field(ge=1, le=25), Wanted("a whole number from 1 to 25")] | None = None
    order: Annotated[int, Field(ge=1, le=1000), Wanted("a whole number from 1 to 1000")] | None = (
        None
    )

    @model_validator(mode="after")
    def _check_seat(self) -> "JurorEntry":
        if self.vendor is None:
            likely = likely_vendor(self.model)
            hint = f"Add vendor: {likely}, if that is who serves it." if likely else "Add vendor:."
            raise FieldError(("vendor",), "is missing", f"{hint} Known: {', '.join(VENDORS)}.")
        if self.vendor in ADDRESSED and self.base_url is None:
            hint = f"Add base_url:, such as {ADDRESSED[self.vendor]}."
            raise FieldError(("base_url",), f"is missing beside the vendor {self.vendor}", hint)
        if self.vendor != "azure":
            for key in ("deployment", "api_version"):
                if getattr(self, key) is not None:
                    raise FieldError((key,), "is for the vendor azure alone", "Leave it out.")
        if self.api_key is not None and self.api_key_env is not None:
            hint = "Keep one of api_key and api_key_env."
            raise FieldError(("api_key",), "cannot be given with api_key_env", hint)
        if self.prompt is not None and self.prompt_file is not None:
            hint = "Keep one of prompt and prompt_file."
            raise FieldError(("prompt_file",), "cannot be given with prompt", hint)
        return self

    def juror(self, folder: Path) -> Juror:
        """Return the juror, with the texts of its prompt file."""
        stated = self.model_dump(exclude_none=True, exclude={"prompt_file", "api_key"})
        if self.api_key is not None:
            stated["api_key_env"] = self.api_key
        price = stated.get("price")
        stated["price"] = Price(**price) if price else price_of(self.vendor or "", self.model)
        if self.prompt_file is not None:
            try:
                source = opened(folder / self.prompt_file, "a prompt's YAML file")
            except PanelError as error:
                problem = f'names "{self.prompt_file}": {error.problem}'
                hint = "Name a file beside the panel file."
                raise FieldError(("prompt_file",), problem, hint) from error
            found = prompt_from(source)
            if self.system_prompt is not None and found.system_prompt is not None:
                problem = "has a system_prompt of its own, and the juror has another"
                raise FieldError(("prompt_file",), problem, "Keep one of them.")
            stated |= found.model_dump(exclude_none=True, by_alias=True)
        try:
            return Juror(**{"name": self.model, **stated})
        except UsageError as error:
            raise FieldError(("extra",), error.message, error.hint) from None


class PromptFile(PanelPart):
    """One version of a prompt."""

    what = "a prompt file"

    version: Annotated[str, _line(80)] = Field(serialization_alias="prompt_version")
    system_prompt: Text | None = None
    user_prompt_template: Template = Field(serialization_alias="prompt")


class PanelModel(PanelPart):
    """A whole panel file."""

    what = "a panel"
    retired: ClassVar[Mapping[str, str]] = {
        "rounds": "Leave it out: jurors answer once, without seeing each other's reasons."
    }

    name: Annotated[str, _line(200)] | None = None
    rubric: Text | None = None
    threshold: Unit = None
    quorum: Annotated[Any, _share(values.quorum), Wanted(_QUORUM)] = None
    strategy: StrategyName | None = None
    trim: TrimEntry | None = Field(None, serialization_alias="cut")
    regime: RegimeName | None = None
    failed_jurors: StandIn | None = None
    min_answered: Annotated[Any, _share(values.min_answered), Wanted(_MINIMUM)] = None
    strategy_for: Annotated[
        dict[str, StrategyName] | None,
        AfterValidator(_no_key_names),
        Field(serialization_alias="routes"),
    ] = None
    supermajority: Annotated[Any, _share(values.supermajority), Wanted(_SUPERMAJORITY)] = None
    labels: Labels = None
    passing: Labels = None
    failing: Labels = None
    stop_when_decided: bool | None = None
    swap: bool | None = None
    jurors: Annotated[list[JurorEntry], Field(min_length=1, max_length=MAX_JURORS)]

    def spec(self, name: str, folder: Path) -> PanelSpec:
        """Return the panel; ``name`` is used if the file has none, ``folder`` has prompt files."""
        jurors: dict[str, Juror] = {}
        for at, seat in enumerate(self.jurors):
            try:
                juror = seat.juror(folder)
            except FieldError as error:
                raise error.within("jurors", at) from None
            if juror.name in jurors:
                path = ("jurors", at, "name") if seat.name else ("jurors", at)
                text = f'is the name of jurors[{[*jurors].index(juror.name)}] too: "{juror.name}"'
                raise FieldError(path, text, "Give each seat a name of its own with name:.")
            jurors[juror.name] = juror
        rule = self._rule(jurors)
        count = len(jurors)
        if least_answered(rule.min_answered, count) > count:
            text = f"is {self.min_answered}, and the panel has {count} juror{'s' * (count != 1)}"
            raise FieldError(("min_answered",), text, "Ask for as many as there are, or fewer.")
        return PanelSpec(self.name or name, tuple(jurors.values()), rule, self.rubric)

    def _rule(self, jurors: dict[str, Juror]) -> PanelRule:
        own = {"name", "rubric", "jurors"}
        stated = self.model_dump(exclude_none=True, exclude=own, by_alias=True)
        trim = stated.pop("cut", {})
        weights = {one.name: one.weight for one in jurors.values() if one.weight is not None}
        try:
            return PanelRule(**stated, **trim, weights=weights)
        except UsageError as error:
            # The labels are checked as a whole; the message begins with the key.
            key, _, problem = error.message.partition(" ")
            raise FieldError((key,), problem, f"{error.hint}.") from None


def read_panel(path: str | Path) -> PanelSpec:
    """Read a panel file and check all of it; PanelError names file, line and place."""
    return panel_from(opened(path, "the panel's YAML or TOML file"), Path(path).parent)


def panel_from(source: Source, folder: Path) -> PanelSpec:
    """Return the panel in an opened source; prompt files are looked up in ``folder``."""
    empty = "Write name: and a list under jurors:."
    with parsed(source, "a panel file", empty) as root:
        panel = validated(PanelModel, root.plain(_TEXTS))
        return panel.spec(Path(source.shown_name).stem or "panel", folder)


def read_plain(path: str | Path) -> JsonObject:
    """Check a panel file and return its keys and values; PanelError as in ``read_panel``."""
    source = opened(path, "the panel's YAML or TOML file")
    panel_from(source, Path(path).parent)
    with parsed(source, "a panel file", "") as root:
        plain: JsonObject = root.plain(_TEXTS)
        return plain


def read_prompt(path: str | Path) -> PromptFile:
    """Read a prompt file; PanelError names file, line and place if it is not valid."""
    return prompt_from(opened(path, "a prompt's YAML file"))


def prompt_from(source: Source) -> PromptFile:
    empty = "Write version: and user_prompt_template:."
    with parsed(source, "a prompt file", empty) as root:
        return validated(PromptFile, root.plain(_TEXTS))


def panel_text(panel: PanelSpec, about: str = "") -> str:
    """Return the YAML of a panel, after ``about`` as a comment; default values are left out.

    So are prices, which the table gives, and a rule that no panel file can name.
    """
    comment = "".join(f"# {line}\n" for line in about.splitlines())
    said = {"name": panel.name, "rubric": panel.rubric, **_rule(panel.rule)}
    said["jurors"] = []
    for one in panel.jurors:
        usual = asdict(Juror(one.name, one.model, one.vendor, extra=one.extra))
        juror: JsonObject = {"name": one.name, "model": one.model, "vendor": one.vendor}
        juror |= {key: value for key, value in asdict(one).items() if value != usual[key]}
        juror |= {"price": None, "prompt_version": None, "extra": dict(one.extra) or None}
        if (one.api_key_env or "").startswith("@"):
            juror["api_key"] = juror.pop("api_key_env")
        said["jurors"].append(without_nulls(juror))
    plain = json.loads(json.dumps(without_nulls(said)))  # words instead of enumerations
    return comment + plain_text(plain)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, so that a person can edit them."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def plain_text(plain: Mapping[str, Any]) -> str:
    return yaml.dump(dict(plain), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def _rule(rule: PanelRule) -> JsonObject:
    same = ("threshold", "quorum", "regime", "failed_jurors", "min_answered")
    return {
        **{key: getattr(rule, key) for key in same},
        "strategy": rule.strategy if rule.strategy in STRATEGIES else None,
        "trim": {"fraction": rule.trim, "rounding": rule.rounding},
        "strategy_for": dict(rule.routes) or None,
        "supermajority": own_share(rule.supermajority),
        **{key: list(getattr(rule, key)) or None for key in ("labels", "passing", "failing")},
    }
