"""auto prefers dynoxide and says why it does not get it; what is busy or broken is never passed over."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from keyfence.local.engines import choice, dynoxide, moto
from keyfence.local.engines.engine import EngineBusy, EngineFailed, EngineMissing

from .conftest import quiet

MISSING = EngineMissing("there is no npm.")


@pytest.fixture(autouse=True)
def _moto_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moto, "start", lambda _: SimpleNamespace(name="moto"))


def no_dynoxide(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(dynoxide, "start", fail)


def test_moto_is_moto_and_says_that_it_forgets(tmp_path: Path) -> None:
    chosen = choice.start_engine("moto", tmp_path, quiet)
    assert chosen.description == "moto: its data is in memory and ends with this process"


def test_auto_falls_back_to_moto_and_says_why_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_dynoxide(monkeypatch, MISSING)
    chosen = choice.start_engine("auto", tmp_path, quiet)
    assert chosen.engine.name == "moto"
    assert chosen.description == "moto, since there is no npm: its data is in memory and ends with this process"


def test_dynoxide_asked_for_by_name_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_dynoxide(monkeypatch, MISSING)
    with pytest.raises(EngineMissing):
        choice.start_engine("dynoxide", tmp_path, quiet)


@pytest.mark.parametrize("error", [EngineBusy("in use"), EngineFailed("broken")], ids=str)
def test_auto_does_not_hide_data_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: EngineBusy | EngineFailed
) -> None:
    no_dynoxide(monkeypatch, error)
    with pytest.raises(type(error)):
        choice.start_engine("auto", tmp_path, quiet)


def test_auto_takes_dynoxide_from_the_data_directory(
    tmp_path: Path, dynoxide_program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "dynoxide").symlink_to(dynoxide_program)
    chosen = choice.start_engine("auto", tmp_path, quiet)
    try:
        assert chosen.engine.persistent
        assert str(tmp_path) in chosen.description
    finally:
        chosen.engine.stop()
