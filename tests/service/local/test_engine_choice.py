"""auto prefers dynoxide, says why it uses moto instead, and never hides a busy or broken dynoxide."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from keyfence.local.engines import dynoxide, engine_choice, moto
from keyfence.local.engines.engine import EngineBusy, EngineFailed, EngineMissing
from tests.service.local.conftest import quiet

MISSING = EngineMissing("there is no npm.")


@pytest.fixture(autouse=True)
def _moto_without_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moto, "start", lambda _: SimpleNamespace(name="moto"))


def make_dynoxide_fail(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(dynoxide, "start", fail)


def test_the_description_of_moto_says_that_data_is_lost(tmp_path: Path) -> None:
    chosen = engine_choice.start_engine("moto", tmp_path, quiet)
    assert chosen.description == "moto: its data is in memory and is lost when `keyfence dev` stops"


def test_auto_uses_moto_if_dynoxide_is_missing_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_dynoxide_fail(monkeypatch, MISSING)
    chosen = engine_choice.start_engine("auto", tmp_path, quiet)
    assert chosen.engine.name == "moto"
    assert (
        chosen.description
        == "moto, because there is no npm: its data is in memory and is lost when `keyfence dev` stops"
    )


def test_dynoxide_by_name_is_never_replaced_by_moto(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_dynoxide_fail(monkeypatch, MISSING)
    with pytest.raises(EngineMissing):
        engine_choice.start_engine("dynoxide", tmp_path, quiet)


@pytest.mark.parametrize("error", [EngineBusy("in use"), EngineFailed("broken")], ids=str)
def test_auto_raises_if_dynoxide_is_there_but_cannot_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: EngineBusy | EngineFailed
) -> None:
    make_dynoxide_fail(monkeypatch, error)
    with pytest.raises(type(error)):
        engine_choice.start_engine("auto", tmp_path, quiet)


def test_auto_finds_dynoxide_in_the_data_directory(
    tmp_path: Path, dynoxide_program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "dynoxide").symlink_to(dynoxide_program)
    chosen = engine_choice.start_engine("auto", tmp_path, quiet)
    try:
        assert chosen.engine.is_persistent
        assert str(tmp_path) in chosen.description
    finally:
        chosen.engine.stop()
