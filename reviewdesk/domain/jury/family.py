"""Vendor families of models, and the bias risk of jurors that share the generator's family."""

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from reviewdesk.domain.report_model import JurorModel
from reviewdesk.domain.verdict import Ballot, Generator

_CORE = (
    ("anthropic", r"claude"),
    ("openai", r"gpt|chatgpt|o[134](?![a-z0-9])"),
    ("gemini", r"gemini"),
    ("mistral", r"mistral|mixtral|codestral|ministral|magistral|devstral"),
)
_EXTENDED = (
    ("openai", r"text-davinci|davinci"),
    ("gemini", r"gemma|palm|bard"),
    ("mistral", r"pixtral"),
    ("deepseek", r"deepseek"),
    ("qwen", r"qwen|qwq"),
    ("meta", r"llama|meta-llama|codellama"),
    ("xai", r"grok"),
    ("moonshot", r"kimi|moonshot"),
    ("cohere", r"command|c4ai|aya"),
    ("zhipu", r"glm|chatglm"),
    ("microsoft", r"phi(?![a-z])"),
    ("amazon", r"nova(?![a-z])|titan"),
    ("yi", r"yi-"),
    ("ai21", r"jamba|jurassic"),
    ("nvidia", r"nemotron"),
    ("minimax", r"minimax|abab"),
    ("tencent", r"hunyuan"),
    ("baidu", r"ernie"),
    ("bytedance", r"doubao|seed-"),
)
_VENDORS = {name: name for name, _ in (*_CORE, *_EXTENDED)} | {
    "google": "gemini", "vertexai": "gemini", "mistralai": "mistral", "alibaba": "qwen",
    "meta-llama": "meta", "x-ai": "xai", "moonshotai": "moonshot",
}  # fmt: skip


class Family(Struct, frozen=True):
    """A vendor family; ``extended`` marks one outside the four that the jury document names."""

    name: str
    extended: bool = False


@lru_cache(maxsize=4096)
def family(model: str | None, vendor: str | None = None) -> Family | None:
    """Return the family of a model, by its name or else by its vendor's; ``None`` if unknown."""
    text = (model or "").strip().lower().removeprefix("models/").removeprefix("ft:")
    *prefixes, last = text.split("/")
    if "google" in prefixes:
        return Family("gemini")
    last = re.sub(r"^(?:[a-z]{2}\.)?(?:anthropic|meta|mistral|amazon|cohere)\.", "", last)
    for name, pattern in (*_CORE, *_EXTENDED):
        if re.match(pattern, last):
            return Family(name, (name, pattern) in _EXTENDED)
    for candidate in ((vendor or "").strip().lower(), *reversed(prefixes)):
        if known := _VENDORS.get(candidate):
            return Family(known, known not in dict(_CORE))
    return None


def same_family(jurors: Sequence[Ballot], generator: Generator) -> bool | None:
    """Return whether a juror shares the generator's family; ``None`` if either side is unknown."""
    known = any(family(juror.model, juror.vendor) for juror in jurors)
    if not known or family(generator.model, generator.vendor) is None:
        return None
    return bool(relatives(jurors, generator))


def relatives(jurors: Sequence[Ballot], generator: Generator) -> tuple[Ballot, ...]:
    """Return the ballots of the jurors that share the generator's family."""
    own = family(generator.model, generator.vendor)
    found = [(one, family(one.model, one.vendor)) for one in jurors]
    return tuple(one for one, its in found if own and its and its.name == own.name)


def plain_kin(jurors: Sequence[Ballot | JurorModel], generator: Generator) -> bool:
    """Return True if a juror and the generator share one of the jury document's four families."""
    own = family(generator.model, generator.vendor)
    plain = own is not None and not own.extended
    return plain and any(family(juror.model, juror.vendor) == own for juror in jurors)


def bias_warning(
    jurors: Sequence[Ballot], generator: Generator, *, low: bool, shared: bool | None
) -> str | None:
    """Return a warning if agreement is low *and* a juror shares the generator's family."""
    if not low or not shared:
        return None
    names = ", ".join(juror.id for juror in relatives(jurors, generator))
    own = family(generator.model, generator.vendor)
    if not names or own is None:
        return "low agreement, and a juror of the generator's family sat on the panel"
    return f"low agreement, and {names} shares the generator's family ({own.name})"
