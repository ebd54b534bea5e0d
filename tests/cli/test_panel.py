"""``panel check``: what a panel file says, before anybody is asked."""

from pathlib import Path

import pytest

from reviewdesk.domain.panel.vendors import VENDORS, key_variable
from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import SAMPLES

KEY = "sk-live-4f9aT7Qe2LmZ8xWb"
HOSTED, LOCAL = SAMPLES / "panel-hosted.yaml", SAMPLES / "panel-local.toml"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor in VENDORS:
        monkeypatch.delenv(key_variable(vendor) or "", raising=False)


def test_a_panel_on_a_page(cli: Cli) -> None:
    done = cli("panel", "check", HOSTED, "--generator", "claude-haiku-4-5")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[:4] == [
        "PANEL  hosted five",
        "5 jurors, of 5 families: anthropic, openai, gemini, mistral, deepseek",
        "",
        "juror     family     weight  share  model",
    ]
    assert "mistral   mistral         -  20.0%  mistral: mistral-medium-3-5" in lines
    assert "trim      tolerates 1 of 5, breaks at 2" in lines
    assert "warning   of the generator's own family (anthropic): sonnet" in lines
    assert lines[-1] == "key       DEEPSEEK_API_KEY is not set"


def test_the_same_as_json(cli: Cli) -> None:
    found = cli("panel", "check", HOSTED, "--json").json
    assert found["name"] == "hosted five"
    assert found["rule"] == {
        "strategy": "trimmed_mean", "regime": None, "threshold": 0.7, "quorum": "2/3",
        "trim": {"fraction": 0.2, "rounding": "down"}, "failed_jurors": "median",
        "min_answered": None, "strategy_for": {"red-team": "unanimous"},
    }  # fmt: skip
    five = {"jurors": 5, "tolerates": 1, "breaks_at": 2}
    assert found["breakdown"] == {"trim": five, "strategy": five}
    assert [seat["family"] for seat in found["jurors"]] == found["families"]
    assert found["jurors"][0]["key_variable"] == "ANTHROPIC_API_KEY"
    assert found["jurors"][0]["key_set"] is False
    assert found["cost"].keys() == {"item_bytes", "worst_usd", "typical_usd", "bribe_usd"}
    assert found["cost"]["typical_usd"] < found["cost"]["worst_usd"]
    assert len(found["hash"]) == 64
    assert found["warnings"] == []
    assert len(found["missing_keys"]) == 5


def test_a_panel_of_ones_own_machines(cli: Cli) -> None:
    done = cli("panel", "check", LOCAL)
    assert done.code == 0
    lines = done.out.splitlines()
    assert "          median: tolerates 1 of 3, breaks at 2" in lines
    assert "cost      unknown: no price for qwen, llama, ministral" in lines
    assert lines[-1] == "warning   3 jurors: under five, a single one weighs a lot"
    found = cli("panel", "check", LOCAL, "--json").json
    assert found["cost"] is None
    assert (found["missing_keys"], found["jurors"][0]["key_set"]) == ([], None)


def test_a_set_key_is_never_told(cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MISTRAL_API_KEY", "  ")
    for options in ((), ("--json",)):
        done = cli("panel", "check", HOSTED, *options)
        assert KEY not in done.out + done.err
        assert "OPENAI_API_KEY is not set" not in done.out
    assert "MISTRAL_API_KEY is not set" in cli("panel", "check", HOSTED).out
    for line in (f"api_key: {KEY}", f"api_key_env: {KEY}", f"weight: {KEY}", f"name: {KEY}"):
        text = f"jurors:\n- model: m\n  vendor: openai\n  {line}\n"
        done = cli("panel", "check", write("p.yaml", text.encode()))
        assert done.code == 2
        assert KEY not in done.out + done.err


def test_a_bad_file_or_none_is_exit_2_and_one_line(cli: Cli, write: Write) -> None:
    path = write("p.yaml", b"jurors:\n- model: gpt-5\n  vendor: openai\n  wieght: 2\n")
    done = cli("panel", "check", path)
    assert (done.code, done.out) == (2, "")
    (line,) = done.lines
    assert line.startswith(f'{path}:4: $.jurors[0].wieght: is not a key of a juror. Did you mean "')
    assert cli("panel", "check").code == 2
    done = cli("panel", "check", "none.yaml")
    assert (done.code, done.lines) == (
        2,
        ["none.yaml: there is no such file. Name the panel's YAML or TOML file."],
    )


def test_what_a_file_says_is_made_harmless(cli: Cli, write: Write) -> None:
    data = 'rubric: "\\e[31m{output}"\nstrategy_for: {"a\\e[2Jb": mean}\n'
    data += 'jurors: [{model: m, vendor: vllm, prompt: "{output}\\e]0;x\\a"}]\n'
    for options in ((), ("--json",)):
        done = cli("panel", "check", write("p.yaml", data.encode()), *options)
        assert done.code == 0
        assert not {"\x1b", "\x07"} & set(done.out)


def test_a_key_with_a_blank_is_named_not_told(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "two words-and-more")
    done = cli("panel", "check", HOSTED)
    assert (
        "key       ANTHROPIC_API_KEY has characters that keys cannot have" in done.out.splitlines()
    )
    assert "ANTHROPIC_API_KEY is not set" not in done.out
    assert "words" not in done.out
    assert cli("panel", "check", HOSTED, "--json").json["malformed_keys"] == ["ANTHROPIC_API_KEY"]


def test_a_panel_is_described(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.yaml"
    done = cli("panel", "new", path)
    assert (done.code, path.exists()) == (2, False)
    assert "no vendor's API key is set in the environment" in done.err
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    done = cli("panel", "new", path, "--rubric", "Right?")
    assert done.code == 0
    assert "prices of 2026-" in done.out
    assert done.out.splitlines()[-1] == f"written   {path}"
    assert KEY not in done.out + done.err + path.read_text()
    assert cli("panel", "check", path).code == 0
    assert "already exists" in cli("panel", "new", path).err
    found = cli("panel", "new", path, "--force", "--json", "--from", SAMPLES / "library-desk.jsonl")
    assert [one["vendor"] for one in found.json["jurors"]] == ["anthropic", "openai", "gemini"]
    assert found.json["notes"] == []
    assert "--from and --juror" in cli("panel", "new", path, "--from", "x", "--juror", "y").err


def test_a_probe_needs_consent_and_a_key(cli: Cli, tmp_path: Path) -> None:
    options = ("panel", "new", tmp_path / "p.yaml", "--juror", "gpt-5.2", "--force", "--probe")
    refused = cli(*options)
    assert (refused.code, "Give --yes." in refused.err) == (2, True)
    done = cli(*options, "--yes")
    assert (done.code, "no juror can be asked: OPENAI_API_KEY is not set" in done.err) == (2, True)


def test_header_variables_are_keys(cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "jurors:\n- {model: m, vendor: vllm, headers: {CF-Access-Token: CF_TOKEN}}\n"
    path = write("p.yaml", text.encode())
    assert "CF_TOKEN is not set" in cli("panel", "check", path).out
    monkeypatch.setenv("CF_TOKEN", KEY)
    done = cli("panel", "check", path)
    assert "CF_TOKEN" not in done.out
    assert KEY not in done.out + done.err
    extra = f"jurors:\n- {{model: m, vendor: vllm, extra: {{token: {KEY}}}}}\n"
    done = cli("panel", "check", write("p.yaml", extra.encode()))
    assert (done.code, KEY in done.err) == (2, False)
