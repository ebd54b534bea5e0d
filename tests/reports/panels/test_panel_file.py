"""Panel files: what they may say, and what is told of those that cannot be used."""

import random
from pathlib import Path
from textwrap import indent

import pytest

from reviewdesk.domain.panel.juror import (
    DEFAULT_TIMEOUT,
    PLAIN_MAX_TOKENS,
    THINKING_MAX_TOKENS,
    Juror,
    Price,
)
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.verdict import Regime, Rounding, Strategy
from reviewdesk.errors import PanelError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.yaml_nodes import MAX_BYTES
from reviewdesk.reports.panels.panel_file import MAX_JURORS, panel_from, read_panel
from tests.helpers import SAMPLES

KEY = "sk-live-4f9aT7Qe2LmZ8xWb"
"""It stands in many bad files, and no error tells it."""

FULL = """\
name: red desk
rubric: Answers the question.
threshold: 0.6
quorum: 2/3
strategy: trimmed_mean
trim: { fraction: 0.1, rounding: up }
regime: irreversible
failed_jurors: median
strategy_for: { red-team: unanimous, cheap: mean }
jurors:
  - name: first
    model: gpt-5
    vendor: custom
    base_url: https://proxy.example/v1
    api_key_env: PROXY_KEY
    weight: 2
    temperature: 0
    max_tokens: 300
    system_prompt: Be strict.
    prompt: "{rubric} {output}"
    timeout: 30
    rpm: 60
    tpm: 90000
    price: { input: 1.25, output: 10 }
  - model: qwen3:8b
    vendor: ollama
"""
TOML = """\
name = "red desk"
rubric = "Answers the question."
threshold = 0.6
quorum = "2/3"
strategy = "trimmed_mean"
trim = { fraction = 0.1, rounding = "up" }
regime = "irreversible"
failed_jurors = "median"
strategy_for = { red-team = "unanimous", cheap = "mean" }

[[jurors]]
name = "first"
model = "gpt-5"
vendor = "custom"
base_url = "https://proxy.example/v1"
api_key_env = "PROXY_KEY"
weight = 2
temperature = 0
max_tokens = 300
system_prompt = "Be strict."
prompt = "{rubric} {output}"
timeout = 30
rpm = 60
tpm = 90000
price = { input = 1.25, output = 10 }

[[jurors]]
model = "qwen3:8b"
vendor = "ollama"
"""


def read(text: str, name: str = "panel.yaml", folder: Path = SAMPLES) -> PanelSpec:
    return panel_from(Source.from_bytes(name, text.encode()), folder)


SEAT = "jurors:\n- model: gpt-5\n  vendor: openai\n"


def rows() -> list[tuple[str, str, str]]:
    """Name, text and error of each block of the table."""
    table = Path(__file__).with_name("bad_panels.txt").read_text(encoding="utf-8")
    found = []
    for block in table.split("==== ")[1:]:
        head, _, rest = block.partition("\n")
        text, _, told = rest.rpartition("\n=> ") if "\n=> " in rest else ("", "", rest[3:])
        if head == "juror":
            head, text = "panel.yaml", SEAT + indent(text, "  ")
        elif head == "panel":
            head, text = "panel.yaml", "jurors: [{model: gpt-5, vendor: openai}]\n" + text
        found.append((head, text, told.strip()))
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {
        "bad.yaml": "version: 1\nprompt: x\n",
        "noout.yaml": "version: 1\nuser_prompt_template: x\n",
        "good.yaml": "version: 1\nsystem_prompt: y\nuser_prompt_template: '{output}'\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_share_of_a_supermajority(tmp_path: Path) -> None:
    def read(text: str) -> PanelSpec:
        seat = b"\njurors:\n  - { model: gpt-5, vendor: openai }\n"
        return panel_from(Source.from_bytes("p.yaml", text.encode() + seat), tmp_path)

    assert read("strategy: supermajority").rule.supermajority == "2/3"
    assert read("supermajority: 3/4").rule.supermajority == "3/4"
    assert read("supermajority: 0.75").rule.supermajority == 0.75
    for bad in ("1/2", "0.5", "5/4", "most", "true", "[1]"):
        with pytest.raises(PanelError, match=r"supermajority.*over 1/2"):
            read(f"supermajority: {bad}")


def test_every_key_has_its_place() -> None:
    found = read(FULL)
    assert (found.name, found.rubric) == ("red desk", "Answers the question.")
    rule = found.rule
    assert (rule.strategy, rule.threshold, rule.quorum) == (Strategy.TRIMMED_MEAN, 0.6, "2/3")
    assert (rule.trim, rule.rounding, rule.regime) == (0.1, Rounding.UP, Regime.IRREVERSIBLE)
    assert rule.failed_jurors == Strategy.MEDIAN
    assert rule.routes == {"red-team": Strategy.UNANIMOUS, "cheap": Strategy.MEAN}
    # Ballots that come without a weight are weighed as the file says.
    assert rule.weights == {"first": 2.0}
    assert found.jurors[0] == Juror(
        name="first", model="gpt-5", vendor="custom", base_url="https://proxy.example/v1",
        api_key_env="PROXY_KEY", weight=2.0, temperature=0.0, max_tokens=300,
        system_prompt="Be strict.", prompt="{rubric} {output}", timeout=30.0, rpm=60, tpm=90_000,
        price=Price(1.25, 10.0),
    )  # fmt: skip


def test_toml_says_the_same_and_what_is_left_out_has_a_default() -> None:
    assert read(TOML, "panel.TOML") == read(FULL)
    found = read("jurors: [{model: gpt-5, vendor: openai, weight: }]\nrubric:\n", "x/small.yaml")
    rule = found.rule
    assert (found.name, found.rubric) == ("small", None)
    assert (rule.threshold, rule.quorum, rule.strategy, rule.regime) == (0.7, 0.5, None, None)
    assert (rule.trim, rule.rounding, rule.failed_jurors) == (0.2, Rounding.DOWN, None)
    (juror,) = found.jurors
    assert (juror.name, juror.weight, juror.temperature) == ("gpt-5", None, None)
    # gpt-5 thinks before it answers, so its limit leaves room for that.
    assert (juror.max_tokens, juror.timeout) == (THINKING_MAX_TOKENS, DEFAULT_TIMEOUT)
    assert read("jurors: [{model: m, vendor: vllm}]").jurors[0].max_tokens == PLAIN_MAX_TOKENS
    assert found.strategy_for(()) is Strategy.WEIGHTED_AVERAGE


def test_a_prompt_file_is_found_beside_the_panel(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "p.yaml").write_text(
        "jurors: [{model: m, vendor: vllm, prompt_file: ../good.yaml}]", encoding="utf-8"
    )
    (juror,) = read_panel("deep/p.yaml").jurors
    told = (juror.system_prompt, juror.prompt, juror.prompt_version)
    assert told == ("y", "{output}", "1")
    (folder / "plain.yaml").write_text(
        "version: v2\nuser_prompt_template: '{output}!'\n", encoding="utf-8"
    )
    text = "jurors: [{model: m, vendor: vllm, prompt_file: plain.yaml, system_prompt: own}]"
    (own,) = read(text, folder=folder).jurors
    assert (own.system_prompt, own.prompt, own.prompt_version) == ("own", "{output}!", "v2")


def test_the_table_of_bad_files_is_read_whole() -> None:
    assert len(rows()) > 90
    assert len({text for _, text, _ in rows()}) > 90


@pytest.mark.parametrize(("name", "text", "told"), rows())
def test_a_bad_file_is_one_line(name: str, text: str, told: str, folder: Path) -> None:
    (folder / name).write_text(text + "\n" * bool(text), encoding="utf-8")
    with pytest.raises(PanelError) as caught:
        read_panel(name)
    assert str(caught.value) == told
    error: BaseException | None = caught.value
    while error is not None:
        assert KEY not in str(error)
        error = None if error.__suppress_context__ else error.__context__ or error.__cause__


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"name: \xff\n", "panel.yaml:1: is not UTF-8 text. Save it as UTF-8."),
        (b"name: a\x07b\n", "panel.yaml:1: contains the character"),
        (b"[" * 100_000, "panel.yaml:1: is nested more than 16 levels deep"),
        (b"#" * (MAX_BYTES + 1), "panel.yaml: is over 256 KiB of YAML. Is it the right file?"),
    ],
)
def test_bytes_that_are_no_panel(data: bytes, told: str) -> None:
    with pytest.raises(PanelError) as caught:
        panel_from(Source.from_bytes("panel.yaml", data), SAMPLES)
    assert str(caught.value).startswith(told)


def test_toml_that_is_no_panel() -> None:
    nested = "x = " + "[" * 3000 + "]" * 3000
    for text in (nested, "x = " + "[" * 40 + "]" * 40):
        with pytest.raises(PanelError, match=r"panel.toml: is nested too deeply"):
            read(text, "panel.toml")
    with pytest.raises(PanelError, match=r"panel.toml:1: is not UTF-8"):
        panel_from(Source.from_bytes("panel.toml", b"name = '\xff'"), SAMPLES)
    with pytest.raises(PanelError, match="is over 256 KiB of TOML"):
        panel_from(Source.from_bytes("panel.toml", b"#" * (MAX_BYTES + 1)), SAMPLES)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for path, told in (
        (tmp_path / "none.yaml", "there is no such file. Name the panel's YAML or TOML file."),
        (tmp_path, "is a directory. Name the panel's YAML or TOML file."),
        (tmp_path / "a\0b", "cannot be read"),
    ):
        with pytest.raises(PanelError) as caught:
            read_panel(path)
        assert told in str(caught.value)
    (tmp_path / "big.yaml").write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(PanelError, match=r"big.yaml: is over 256 KiB, too large"):
        read_panel(tmp_path / "big.yaml")


def test_a_panel_has_its_bound() -> None:
    seats = [f"- {{name: j{at}, model: m, vendor: vllm}}" for at in range(MAX_JURORS + 1)]
    assert len(read("jurors:\n" + "\n".join(seats[:-1])).jurors) == MAX_JURORS
    with pytest.raises(PanelError, match=r"jurors: must be a list of 100 or fewer, found 101"):
        read("jurors:\n" + "\n".join(seats))


PIECES = (
    "[", "]", "{", "}", ":", "- ", "\n", "  ", '"', "'", "#", "&a ", "*a", "!!x ", "<<", "|\n", "0",
    "-1", "1e999", "nan", "null", "true", "[[", "\t", "\x00", "\u2028", "\ud7ff", "{output}",
    f" {KEY} ",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", [FULL, TOML])
def test_a_file_with_mistakes_is_a_panel_or_one_line(text: str) -> None:
    dice = random.Random(20)  # noqa: S311 - the same files each time
    name = "panel.yaml" if text == FULL else "panel.toml"
    refused = 0
    for _ in range(1500):
        mutant = text
        for _ in range(dice.randint(1, 4)):
            at, gone = dice.randrange(len(mutant)), dice.choice((0, 0, 1, 5, 30))
            mutant = mutant[:at] + dice.choice(PIECES) * dice.choice((0, 1)) + mutant[at + gone :]
        try:
            read(mutant, name)
        except PanelError as error:
            refused += 1
            told = str(error)
            assert told.startswith("panel.")
            assert "\n" not in told
            assert KEY not in told
    assert refused > 500


@pytest.mark.parametrize("name", ["panel-hosted.yaml", "panel-local.toml"])
def test_the_sample_panels_are_panels(name: str) -> None:
    found = read_panel(SAMPLES / name)
    assert len(found.jurors) >= 3
    assert len({juror.model for juror in found.jurors}) == len(found.jurors)


def test_google_is_gemini_in_a_file_too() -> None:
    (juror,) = read("jurors: [{model: gemini-3.8-flash, vendor: google}]").jurors
    assert (juror.vendor, juror.max_tokens) == ("gemini", 8192)
