"""The share of repeats that ``open`` takes."""

import pytest

from reviewdesk.errors import SettingsError
from reviewdesk.settings import Settings, Share, values_of
from tests.cli.conftest import Cli


@pytest.mark.parametrize("text", ["5", "-1%", "101%", "five", "", "nan", "0.05 %%"])
def test_a_share_that_is_none(loaded: Cli, text: str) -> None:
    done = loaded("open", "--blind", "--repeat", text)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"--repeat: {text!r} is not a share from 0 to 1. Write 5% or 0.05; 0 gives none.\n"
    )


@pytest.mark.parametrize("written", ["5%", "0.05", ".05", " 5 %", 0.05])
def test_a_share_as_it_may_be_written(written: str | float) -> None:
    assert values_of({"repeat": written}) == {"repeat": Share(0.05)}
    assert Settings().repeat == Share(0)


@pytest.mark.parametrize("written", [True, 5, "5", [], "x%"])
def test_a_setting_that_is_no_share(written: object) -> None:
    with pytest.raises(SettingsError, match="repeat must be a share"):
        values_of({"repeat": written})
