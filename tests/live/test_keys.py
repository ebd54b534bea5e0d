"""Keys come from the environment, and no spelling of one survives."""

import base64
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.errors import PanelError, SettingsError
from reviewdesk.live.keys import (
    HIDDEN,
    LONG,
    Key,
    KeyEnvironment,
    Redactor,
    key_of,
    key_problem,
    known_keys,
    read_key,
    redactor,
)
from reviewdesk.live.wires.endpoints import endpoint
from reviewdesk.reports.panels.panel_file import read_panel
from reviewdesk.settings import load_settings
from tests.helpers import environment
from tests.live.builders import KEY, KEYS, juror

KEYS_DRAWN = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60)


def test_a_key_is_stripped_and_not_shown() -> None:
    found = key_of(endpoint(juror("http://x/v1")), {"TEST_KEY": f"\n {KEY}\t"})
    assert found.value == KEY
    assert KEY not in repr(found)


def test_where_none_is_needed_none_is_missed() -> None:
    assert not key_of(endpoint(juror("http://x/v1")), {}).value
    one = juror("http://x/v1", "ollama")
    # Without a variable of the juror's own, a local server gets no key, whoever's is set.
    free = endpoint(type(one)(one.name, one.model, "ollama"))
    assert key_of(free, {"OPENAI_API_KEY": KEY}) == Key()


def test_a_malformed_key_is_named_by_its_variable_alone() -> None:
    found = key_of(endpoint(juror("http://x/v1")), {"TEST_KEY": "two words-and-more"})
    assert found.value is None
    assert "TEST_KEY" in str(found.problem)
    assert "words" not in str(found.problem)


def spellings(key: str) -> dict[str, str]:
    escaped = "".join(f"\\u{ord(char):04x}" for char in key)
    return {
        "plain": key, "all but the first": key[1:], "twelve of it": key[5:17], "upper": key.upper(),
        "JSON": json.dumps(key)[1:-1], "JSON in JSON": json.dumps(json.dumps(key))[3:-3],
        "JSON with slashes": json.dumps(key)[1:-1].replace("/", "\\/"),
        "code points": escaped, "code points in JSON": escaped.replace("\\", "\\\\"),
        "half and half": key[:4] + escaped[24:], "URL": quote(key, safe=""),
        "form": quote_plus(key), "URL twice": quote(quote(key, safe=""), safe=""),
        "every byte": "".join(f"%{ord(char):02X}" for char in key),
        "HTML": "".join(f"&#{ord(char)};" for char in key),
        "hex": key.encode().hex(),
        "UTF-16": key.encode("utf-16-le").decode(),
        "UTF-16 in JSON": json.dumps(key.encode("utf-16-be").decode())[1:-1],
        "base64": base64.b64encode(key.encode()).decode().rstrip("="),
        "base64 of a header": base64.b64encode(f"user:{key}".encode()).decode().rstrip("="),
        "base64 of a line": base64.b64encode(f"key {key}".encode()).decode().rstrip("="),
        "base64 for URLs": base64.urlsafe_b64encode(key.encode()).decode().rstrip("="),
    }  # fmt: skip


@pytest.mark.parametrize("name", spellings(KEY))
def test_every_spelling_is_hidden(name: str) -> None:
    text = spellings(KEY)[name]
    hidden = Redactor([KEY]).text(f"before {text} after")
    assert HIDDEN in hidden
    if name.startswith("UTF-16"):
        assert hidden == HIDDEN
        return
    # Of base64 the first and the last characters also spell what is beside the key.
    left = hidden.removeprefix("before ").removesuffix(" after").replace(HIDDEN, "")
    assert len(left) <= (8 if name.startswith("base64") else 0)


@given(key=KEYS_DRAWN, text=st.text(), at=st.integers(0, 20))
def test_no_key_is_left_in_any_text(key: str, text: str, at: int) -> None:
    hide = Redactor([key])
    for spelt in (key, json.dumps(key)[1:-1], quote(key, safe="")):
        assert key not in hide.text(text[:at] + spelt + text[at:]).replace(HIDDEN, "\n")


ESCAPES: tuple[Callable[[str], str], ...] = (
    lambda char: char,
    str.upper,
    lambda char: f"\\u{ord(char):04x}",
    lambda char: f"\\u{ord(char):04X}",
    lambda char: f"\\\\u{ord(char):04x}",
    lambda char: f"\\x{ord(char):02x}",
    lambda char: f"%{ord(char):02X}",
    lambda char: f"%25{ord(char):02x}",
    lambda char: f"%%{ord(char):02x}",
    lambda char: f"&#{ord(char)};",
    lambda char: f"&#x{ord(char):02X};",
)


@given(
    escapes=st.lists(st.sampled_from(ESCAPES), min_size=len(KEY), max_size=len(KEY)),
    before=st.text(max_size=30),
    after=st.text(max_size=30),
    long=st.booleans(),
)
def test_whatever_is_escaped_and_how_nothing_spells_the_key(
    escapes: list[Callable[[str], str]], before: str, after: str, *, long: bool
) -> None:
    spelt = "".join(escape(char) for escape, char in zip(escapes, KEY, strict=True))
    hidden = Redactor([KEY]).text(before + spelt + after + " " * (LONG if long else 0))
    assert HIDDEN in hidden
    assert spelt not in hidden


@given(st.sampled_from(sorted(spellings(KEY))), st.integers(0, 600), st.integers(0, 200))
def test_a_cut_leaves_nothing_of_a_key(name: str, before: int, most: int) -> None:
    spelt = spellings(KEY)[name]
    cut = Redactor([KEY]).short("." * before + spelt, most)
    assert len(cut) <= most
    assert spelt[:8] not in cut or name == "base64 of a header"


@given(text=st.text())
def test_other_texts_stay(text: str) -> None:
    assert Redactor([KEY]).text(text) == text
    assert Redactor([]).text(text) == text


def test_what_is_hidden_whole_and_what_stays() -> None:
    others = "sk-other...****9999, and so on ... sk- *** 01 " + "." * 1000
    for keys, text, hidden in [
        (["ollama", "", "  "], "ollama says", "ollama says"),  # a placeholder of a local server
        (["sk-short-key", "sk-short-key-longer"], "sk-short-key-longer", HIDDEN),
        ([KEY], others, others),  # masks beside other texts
        ([KEY], " " * LONG, " " * LONG),
        *(
            ([KEY], " " * LONG + spellings(KEY)[name], HIDDEN)
            for name in ("plain", "code points", "every byte")
        ),
        # More references than a reply has room for are hidden unread.
        ([KEY], "&#37;" * (LONG // 4), "&#37;" * (LONG // 4)),
        ([KEY], "&#37;" * (LONG // 4 + 1), HIDDEN),
    ]:
        assert Redactor(keys).text(text) == hidden


MASKS = (
    "...", "****", "…", "...****", "••••••", " ... ", "xxxx", "\\u2026", "&hellip;", "[redacted]",
)  # fmt: skip


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("start", ["", "sk-", KEY[:4], KEY[:9].upper()])
def test_a_masked_key_is_hidden_with_its_mask(mask: str, start: str) -> None:
    hide = Redactor([KEY])
    assert hide.text(f"got:{start}{mask}{KEY[-4:]}.") == f"got:{HIDDEN}."
    if len(start) >= 4:
        assert hide.text(f"got {start}{mask}") == f"got {HIDDEN}"
        assert hide.text(f"got {start}{mask}{KEY[-2:]}.") == f"got {HIDDEN}."


@given(
    key=KEYS_DRAWN,
    mask=st.text(st.sampled_from("*•…"), min_size=1, max_size=40),
    start=st.integers(0, 60),
    tail=st.integers(0, 60),
    around=st.tuples(st.text(max_size=20), st.text(max_size=20)),
)
def test_no_end_of_a_key_survives_beside_a_mask(
    key: str, mask: str, start: int, tail: int, around: tuple[str, str]
) -> None:
    shown = key[: min(start, len(key) - 1)], key[len(key) - min(tail, len(key) - 1) :]
    left = Redactor([key]).text(around[0] + shown[0] + mask + shown[1] + around[1]).lower()
    for at in re.finditer(r"[*•…]+", left):
        assert not any(left[: at.start()].endswith(key[:size].lower()) for size in range(4, 60))
        for size in range(4, len(key)):
            assert not left.startswith(key[-size:].lower(), at.end())


def test_a_panel_hides_all_keys_it_knows() -> None:
    assert Redactor([KEY]).headers({f"x-{KEY}": KEY}) == {f"x-{HIDDEN}": HIDDEN}
    environment = KEYS | {"OPENAI_API_KEY": "sk-other-0123", "HOME": "/somewhere"}
    hide = redactor([juror("http://x/v1")], environment)
    assert hide.text(f"{KEY} sk-other-0123 /somewhere") == f"{HIDDEN} {HIDDEN} /somewhere"
    assert known_keys(environment) == {"sk-other-0123"}
    assert KEY not in repr(hide)


PANEL = """
jurors:
  - {name: ada, model: gpt-5, vendor: openai, api_key: "@work"}
"""


def panel(folder: Path, text: str = PANEL) -> str:
    path = folder / "panel.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def prints(code: str) -> dict[str, list[str]]:
    return {"work": [sys.executable, "-c", code]}


def test_a_command_is_run_once_and_its_first_line_is_the_key(tmp_path: Path) -> None:
    (juror,) = read_panel(panel(tmp_path)).jurors
    log = tmp_path / "runs"
    code = f"open({str(log)!r}, 'a').write('x'); print('  {KEY} \\nurl: x')"
    known = KeyEnvironment({"OPENAI_API_KEY": "sk-another-one"}, prints(code))
    for _ in range(3):
        assert key_of(endpoint(juror), known).value == KEY
    assert redactor([juror], known).text(f"got {KEY}") == "got [key]"
    assert log.read_text(encoding="utf-8") == "x"
    assert KEY not in repr(known)
    assert "@work" not in set(known)


@pytest.mark.parametrize(
    ("code", "said", "seconds"),
    [
        (f"import sys; print({KEY!r}); sys.exit({KEY!r})", "its command ended with 1", 60),
        ("pass", "its command printed nothing", 60),
        ("print('two words')", "has characters that keys cannot have", 60),
        ("import time; time.sleep(60)", "took over 0.01 s", 0.01),
    ],
)
def test_a_command_that_gives_no_key_is_told_without_what_it_printed(
    tmp_path: Path, code: str, said: str, seconds: float
) -> None:
    (juror,) = read_panel(panel(tmp_path)).jurors
    found = key_of(endpoint(juror), KeyEnvironment({}, prints(code), seconds=seconds))
    assert found.value is None
    assert said in str(found.problem)
    assert str(found.problem).startswith("@work ")
    assert KEY not in str(found.problem)
    assert "two words" not in str(found.problem)


async def test_planning_reads_no_key_and_asking_does(tmp_path: Path) -> None:
    place = endpoint(read_panel(panel(tmp_path)).jurors[0])
    made = tmp_path / "made"
    known = KeyEnvironment({}, prints(f"open({str(made)!r}, 'w'); print({KEY!r})"))
    assert key_problem(place, known) is None
    assert not made.exists()
    assert (await read_key(place, known)).value == KEY
    assert key_problem(place, KeyEnvironment({})) == "@work is not in the api keys of your settings"


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    (juror,) = read_panel(panel(tmp_path)).jurors
    known = KeyEnvironment({}, {"work": [f"echo {KEY}; touch {tmp_path}/made"]})
    assert key_of(endpoint(juror), known).problem == "@work gave no key: its command cannot be run"
    assert not (tmp_path / "made").exists()


def test_an_entry_of_the_keyring(tmp_path: Path) -> None:
    place = endpoint(read_panel(panel(tmp_path)).jurors[0])

    def keyring(service: str, name: str) -> str | None:
        assert (service, name) == ("a/service", "ann")
        return KEY

    def locked(_service: str, _name: str) -> str | None:
        raise RuntimeError(KEY)

    entries = {"work": "a/service/ann"}
    assert key_of(place, KeyEnvironment({}, {}, entries, keyring=keyring)).value == KEY
    failed = KeyEnvironment({}, {}, entries, keyring=locked)
    assert key_of(place, failed).problem == "@work cannot be read from the keyring"
    nothing = KeyEnvironment({}, {}, entries, keyring=lambda *_: None)
    assert key_of(place, nothing).problem == "@work is not in the keyring"


@pytest.mark.parametrize("value", [KEY, '["pass", "show"]', "$(pass show x)", "work", "@", "@a b"])
def test_a_panel_file_names_a_reference_and_nothing_else(tmp_path: Path, value: str) -> None:
    written = value if value.startswith("[") else f'"{value}"'
    with pytest.raises(PanelError) as found:
        read_panel(panel(tmp_path, PANEL.replace('"@work"', written)))
    assert "api_key: must be a reference such as @openai" in str(found.value)
    assert len(value) < 4 or value not in str(found.value)


def test_one_key_a_juror(tmp_path: Path) -> None:
    text = PANEL.replace('"@work"', '"@work", api_key_env: OPENAI_API_KEY')
    with pytest.raises(PanelError, match="cannot be given with api_key_env"):
        read_panel(panel(tmp_path, text))


def test_the_settings_name_commands_and_entries(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        'api_key_keyring = {mine = "service/ann"}\n[api_key_command]\nwork = ["pass", "show"]\n',
        encoding="utf-8",
    )
    found = load_settings(environ={"REVIEWDESK_CONFIG": str(path)})
    assert found.api_key_command == {"work": ("pass", "show")}
    assert found.api_key_keyring == {"mine": "service/ann"}


@pytest.mark.parametrize(
    "text",
    [
        f'api_key_command = "{KEY}"', f'api_key_command = {{work = "{KEY}"}}',
        f'api_key_command = ["{KEY}"]', "api_key_command = {work = []}",
        f'api_key_keyring = "{KEY.replace("/", "")}"', 'api_key_keyring = {work = "service"}',
        f'api_key_keyring = {{"{KEY}" = "a/b"}}', 'api_key_keyring = {work = ["a/b"]}',
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_not_repeated(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as found:
        load_settings(environ={"REVIEWDESK_CONFIG": str(path)})
    assert "must be a table such as {openai =" in str(found.value)
    assert KEY not in str(found.value)


def run(folder: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run reviewdesk where the settings give @work as what this code prints."""
    config = folder / "config.toml"
    command = json.dumps([sys.executable, "-c", code])
    config.write_text(f"[api_key_command]\nwork = {command}\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "reviewdesk", *arguments],
        env=environment(folder / "desk.db") | {"REVIEWDESK_CONFIG": str(config)},
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_the_command_reads_the_settings(tmp_path: Path) -> None:
    path = panel(tmp_path, PANEL + '  - {name: bob, model: m, vendor: openai, api_key: "@no"}\n')
    done = run(tmp_path, f"print({KEY!r})", "panel", "check", path)
    assert "@no is not set" in done.stdout
    assert "@work" not in done.stdout
    assert KEY not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_dry_run_of_judge_runs_no_key_command(tmp_path: Path) -> None:
    cases, ran = tmp_path / "cases.jsonl", tmp_path / "ran"
    case = {"id": "a", "input": "q", "output": "r", "rubric": "is right"}
    cases.write_text(json.dumps(case) + "\n", encoding="utf-8")
    code = f"open({str(ran)!r}, 'w'); print({KEY!r})"
    done = run(tmp_path, code, "judge", str(cases), "--panel", panel(tmp_path), "--dry-run")
    assert '"juror"' in done.stdout
    assert not ran.exists()
