"""keyfence dev starts an engine and the service, says how to use them, and leaves nothing running."""

import os
import shlex
import signal
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from keyfence.cli.dev_server import Welcome
from keyfence.cli.gate import remembered_port
from keyfence.cli.process import PortUnusable, listen, listen_near
from keyfence.local.data_directory import GateRecord, find_gate_record, save_gate_record
from keyfence.local.engines import dynoxide_binary as binary
from keyfence.local.issuer import LocalIssuer
from tests import tier

from .conftest import Run, refusal
from .fake_app import kill_engine
from .keyfence_process import paste, running

READY = "Press Ctrl-C to stop."


@pytest.fixture
def data(tmp_path: Path, dynoxide_program: Path) -> Iterator[Path]:
    """A data directory with dynoxide at hand, which does not outlive the test."""
    (tmp_path / "dynoxide").symlink_to(dynoxide_program)
    yield tmp_path
    if engine_lives(tmp_path):
        kill_engine(tmp_path / "lock")


def engine_lives(data: Path) -> bool:
    try:
        os.kill(int((data / "lock").read_text().split()[-1]), 0)
    except ProcessLookupError:
        return False
    return True


def test_a_busy_port_is_said_in_a_sentence_before_anything_is_made(run: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refusal(run("dev", "--port", port, "--data", tmp_path / "data"))
    assert said == f"Port {port} on 127.0.0.1 is already in use: choose another one with --port."
    assert not (tmp_path / "data").exists()


def test_a_busy_gate_port_is_said_before_anything_is_made(run: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refusal(run("dev", "--port", 0, "--gate-port", port, "--data", tmp_path / "data"))
    assert said == f"Port {port} on 127.0.0.1 is already in use: choose another one with --gate-port."
    assert not (tmp_path / "data").exists()


def test_without_a_port_the_next_free_one_is_taken() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with listen_near("127.0.0.1", None, port, "--port") as next_free:
            assert next_free.getsockname()[1] > port
        with pytest.raises(PortUnusable, match=f"Port {port} on 127.0.0.1 is already in use"):
            listen_near("127.0.0.1", port, 8000, "--port")


def test_the_ports_of_the_last_run_are_preferred(tmp_path: Path) -> None:
    assert remembered_port(tmp_path, "url") is None
    record = GateRecord(url="http://127.0.0.1:18001", account="0", region="r", server_url="http://127.0.0.1:18000")
    save_gate_record(tmp_path, record)
    assert (remembered_port(tmp_path, "url"), remembered_port(tmp_path, "server_url")) == (18001, 18000)
    save_gate_record(tmp_path, replace(record, url="http://127.0.0.1:port", server_url=None))
    assert (remembered_port(tmp_path, "url"), remembered_port(tmp_path, "server_url")) == (None, None)


def test_an_unusable_directory_is_said_in_a_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be used: File exists." in refusal(
        run("dev", "--port", 0, "--gate-port", 0, "--data", tmp_path / "file")
    )


def test_a_missing_engine_asked_for_by_name_is_said_in_a_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = refusal(run("dev", "--port", 0, "--gate-port", 0, "--engine", "dynoxide", "--data", tmp_path))
    assert said.startswith("@dynoxide/")
    assert said.endswith(f"@{binary.VERSION} cannot be fetched, because npm is not on PATH.")


def test_an_unknown_engine_is_a_usage_error(run: Run) -> None:
    assert run("dev", "--engine", "sqlite").exit_code == 2


def test_a_setting_that_cannot_be_read_is_said_in_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_WORKERS", "many")
    assert refusal(run("dev", "--port", 0, "--gate-port", 0)).startswith("KEYFENCE_WORKERS: ")


def test_a_socket_is_listening_from_the_start() -> None:
    with listen("127.0.0.1", 0) as listener:
        socket.create_connection(listener.getsockname()).close()


def test_its_commands_work_from_anywhere_whatever_the_directory_was_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    issuer = LocalIssuer(key=ec.generate_private_key(ec.SECP256R1()))
    said = str(Welcome(url="http://u", gate="http://g", engine="e", issuer=issuer, data=Path("a b")))
    commands = [shlex.split(line.partition("= ")[2] or line) for line in said.splitlines() if "uv run" in line]
    assert [command[5] for command in commands] == ["token", "credentials"]
    for uv, run, option, project, *_, data in commands:
        assert (uv, run, option, data) == ("uv", "run", "--project", str(tmp_path / "a b"))
        assert (Path(project) / "pyproject.toml").is_file()


@pytest.mark.engine
def test_it_serves_each_demo_tenant_and_ends_cleanly_on_ctrl_c(tmp_path: Path) -> None:
    with running("dev", "--port", "0", "--gate-port", "0", "--engine", "moto", "--data", str(tmp_path)) as service:
        service.until(READY)
        curls = [line for line in service.lines if line.startswith("curl ")]
        answers = [paste(curl) for curl in curls]
        record = find_gate_record(tmp_path)
        assert record
        assert any(f"Gate      {record.url}" in line for line in service.lines)
        assert any(f"GraphiQL  {record.server_url}/graphql" in line for line in service.lines)
        code, said = service.end(signal.SIGINT)
    tokens = [jwt.decode(answer["as"].split()[1], options={"verify_signature": False}) for answer in answers]
    assert [token["tenant"] for token in tokens] == ["acme", "globex"]
    assert all("viewer" in answer["asked"]["query"] for answer in answers)
    assert [answer["differences"] for answer in answers] == [[], []]
    assert code == 0
    assert said.splitlines() == ["starting moto ...", "loading the service ...", "creating the table ..."]


@pytest.mark.engine
def test_without_npm_it_runs_on_moto_and_says_why_in_one_line(tmp_path: Path) -> None:
    with running("dev", "--port", "0", "--gate-port", "0", "--data", str(tmp_path), PATH=str(tmp_path)) as service:
        service.until(READY)
        (line,) = [line for line in service.lines if "moto" in line]
        assert "npm is not on PATH: its data is in memory and is lost when this stops" in line
        assert service.end(signal.SIGINT)[0] == 0


@pytest.mark.parametrize(
    "ending",
    tier.cases(
        [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], default=[signal.SIGTERM], reason="starts and ends processes"
    ),
    ids=lambda number: number.name,
)
def test_the_engine_ends_with_it_and_data_is_there_again(data: Path, ending: signal.Signals) -> None:
    for found in (False, True):
        with running("dev", "--port", "0", "--gate-port", "0", "--data", str(data)) as service:
            service.until(READY)
            assert paste(next(line for line in service.lines if line.startswith("curl ")))["found"] == [found]
            code, said = service.end(ending)
        assert (code, "Traceback" in said) == (0, False)
        assert not engine_lives(data)


def test_a_second_one_on_the_same_data_is_refused(data: Path, run: Run) -> None:
    with running("dev", "--port", "0", "--gate-port", "0", "--data", str(data)) as service:
        service.until(READY)
        said = run("dev", "--port", 0, "--gate-port", 0, "--data", data)
        assert (said.exit_code, said.stdout) == (1, "")
        assert f"in use by process {service.process.pid} and its engine" in said.stderr
        assert service.end(signal.SIGINT)[0] == 0


def test_an_engine_that_dies_ends_it_with_a_sentence(data: Path) -> None:
    with running("dev", "--port", "0", "--gate-port", "0", "--data", str(data)) as service:
        service.until(READY)
        kill_engine(data / "lock")
        code, said = service.end()
    assert code == 1
    assert said.splitlines()[-1].startswith("dynoxide stopped with exit code -9: ")
    assert "Traceback" not in said


def test_an_engine_that_dies_while_setting_up_is_the_reason_given(data: Path) -> None:
    arguments = ("dev", "--port", "0", "--gate-port", "0", "--data", str(data))
    with running(*arguments, FAKE_APP_KILLS=str(data / "lock")) as service:
        code, said = service.end()
    assert code == 1
    assert said.splitlines()[-1].startswith("dynoxide stopped with exit code -9: ")
    assert "Traceback" not in said
