"""keyfence dev starts an engine, a gate and the service, prints how to use them, and leaves nothing running."""

import os
import shlex
import signal
import socket
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from keyfence.cli.dev_welcome import WelcomeText, keyfence_command
from keyfence.cli.gate_options import remembered_port
from keyfence.cli.ports import PortUnusable, listen, listen_near
from keyfence.local.data_directory import GateRecord, find_gate_record, save_gate_record
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.local.engines import dynoxide_binary
from tests import tier
from tests.service.cli.conftest import Run, error_message
from tests.service.cli.fake_app import kill_engine
from tests.service.cli.keyfence_process import running, send_curl

READY = "Press Ctrl-C to stop."


@pytest.fixture
def data(tmp_path: Path, dynoxide_program: Path) -> Iterator[Path]:
    """Yields a data directory with a dynoxide binary, and stops an engine that is left."""
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


def test_a_busy_port_is_an_error_before_anything_is_created(run: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        output = error_message(run("dev", "--port", port, "--data", tmp_path / "data"))
    assert output == f"Port {port} on 127.0.0.1 is already in use: choose another one with --port."
    assert not (tmp_path / "data").exists()


def test_a_busy_gate_port_is_an_error_before_anything_is_created(run: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        output = error_message(run("dev", "--port", 0, "--gate-port", port, "--data", tmp_path / "data"))
    assert output == f"Port {port} on 127.0.0.1 is already in use: choose another one with --gate-port."
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


def test_an_unusable_directory_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be used: File exists." in error_message(
        run("dev", "--port", 0, "--gate-port", 0, "--data", tmp_path / "file")
    )


@pytest.mark.parametrize("command", ["dev", "gate"])
def test_a_directory_with_other_files_is_refused_and_stays_as_it_is(run: Run, tmp_path: Path, command: str) -> None:
    project = tmp_path / "project"
    project.mkdir(mode=0o755)
    (project / "main.py").touch()
    options = {"dev": ("--gate-port", 0), "gate": ("--engine-url", "http://127.0.0.1:1")}[command]
    assert "contains main.py. Choose an empty or a new directory with --data." in error_message(
        run(command, "--port", 0, *options, "--data", project)
    )
    assert [path.name for path in project.iterdir()] == ["main.py"]
    assert stat.S_IMODE(project.stat().st_mode) == 0o755


def test_an_engine_that_is_named_and_missing_is_an_error(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    output = error_message(run("dev", "--port", 0, "--gate-port", 0, "--engine", "dynoxide", "--data", tmp_path))
    assert output.startswith("@dynoxide/")
    assert output.endswith(f"@{dynoxide_binary.VERSION} cannot be fetched, because npm is not on PATH.")


def test_an_unknown_engine_is_a_usage_error(run: Run) -> None:
    assert run("dev", "--engine", "sqlite").exit_code == 2


def test_a_setting_that_cannot_be_parsed_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_WORKERS", "many")
    assert error_message(run("dev", "--port", 0, "--gate-port", 0)).startswith("KEYFENCE_WORKERS: ")


def test_a_socket_accepts_connections_from_the_start() -> None:
    with listen("127.0.0.1", 0) as listener:
        socket.create_connection(listener.getsockname()).close()


def test_commands_of_the_welcome_text_work_in_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    issuer = DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1()))
    output = str(WelcomeText(server_url="http://u", gate_url="http://g", engine="e", issuer=issuer, data=Path("a b")))
    commands = [shlex.split(line.partition("= ")[2] or line) for line in output.splitlines() if "uv run" in line]
    assert [command[5] for command in commands] == ["token", "credentials"]
    for uv, run, option, project, *_, data in commands:
        assert (uv, run, option, data) == ("uv", "run", "--project", str(tmp_path / "a b"))
        assert (Path(project) / "pyproject.toml").is_file()


@pytest.fixture
def installed_package(tmp_path: Path) -> Path:
    """Returns the folder of an installed package. A project's pyproject.toml is where a checkout has one."""
    (tmp_path / "pyproject.toml").touch()
    return tmp_path / "site-packages" / "keyfence"


def test_outside_a_checkout_the_welcome_text_names_the_installed_program(
    installed_package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/opt/my tools/keyfence", "dev"])
    assert keyfence_command(installed_package) == "'/opt/my tools/keyfence'"


def test_after_python_m_keyfence_the_welcome_text_names_the_interpreter(
    installed_package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", [str(installed_package / "__main__.py"), "dev"])
    monkeypatch.setattr("sys.executable", "/opt/my tools/python")
    assert keyfence_command(installed_package) == "'/opt/my tools/python' -m keyfence"


@pytest.mark.engine
def test_it_serves_each_demo_tenant_and_stops_cleanly_on_ctrl_c(tmp_path: Path) -> None:
    with running("dev", "--port", "0", "--gate-port", "0", "--engine", "moto", "--data", str(tmp_path)) as service:
        service.read_until(READY)
        curls = [line for line in service.lines if line.startswith("curl ")]
        answers = [send_curl(curl) for curl in curls]
        record = find_gate_record(tmp_path)
        assert record
        assert any(f"Gate      {record.url}" in line for line in service.lines)
        assert any(f"GraphiQL  {record.server_url}/graphql" in line for line in service.lines)
        code, output = service.end(signal.SIGINT)
    tokens = [jwt.decode(answer["as"].split()[1], options={"verify_signature": False}) for answer in answers]
    assert [token["tenant"] for token in tokens] == ["acme", "globex"]
    assert all("viewer" in answer["request"]["query"] for answer in answers)
    assert [answer["differences"] for answer in answers] == [[], []]
    assert code == 0
    assert output.splitlines() == ["starting moto ...", "loading the service ...", "creating the table ..."]


@pytest.mark.engine
def test_without_npm_it_runs_on_moto_and_says_why(tmp_path: Path) -> None:
    with running("dev", "--port", "0", "--gate-port", "0", "--data", str(tmp_path), PATH=str(tmp_path)) as service:
        service.read_until(READY)
        (line,) = [line for line in service.lines if "moto" in line]
        assert "npm is not on PATH: its data is in memory and is lost when `keyfence dev` stops" in line
        assert service.end(signal.SIGINT)[0] == 0


@pytest.mark.parametrize(
    "ending",
    tier.cases(
        [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], default=[signal.SIGTERM], reason="starts and ends processes"
    ),
    ids=lambda number: number.name,
)
def test_the_engine_stops_with_it_and_its_data_is_there_after_a_restart(data: Path, ending: signal.Signals) -> None:
    for has_table in (False, True):
        with running("dev", "--port", "0", "--gate-port", "0", "--data", str(data)) as service:
            service.read_until(READY)
            assert send_curl(next(line for line in service.lines if line.startswith("curl ")))["tableExisted"] == [
                has_table
            ]
            code, output = service.end(ending)
        assert (code, "Traceback" in output) == (0, False)
        assert not engine_lives(data)


def test_a_second_dev_on_the_same_data_is_refused(data: Path, run: Run) -> None:
    with running("dev", "--port", "0", "--gate-port", "0", "--data", str(data)) as service:
        service.read_until(READY)
        output = run("dev", "--port", 0, "--gate-port", 0, "--data", data)
        assert (output.exit_code, output.stdout) == (1, "")
        assert f"in use by process {service.process.pid} and its engine" in output.stderr
        assert service.end(signal.SIGINT)[0] == 0


def test_it_stops_with_an_error_if_the_engine_dies(data: Path) -> None:
    with running("dev", "--port", "0", "--gate-port", "0", "--data", str(data)) as service:
        service.read_until(READY)
        kill_engine(data / "lock")
        code, output = service.end()
    assert code == 1
    assert output.splitlines()[-1].startswith("dynoxide stopped with exit code -9: ")
    assert "Traceback" not in output


def test_an_engine_that_dies_during_startup_is_named_as_the_cause(data: Path) -> None:
    arguments = ("dev", "--port", "0", "--gate-port", "0", "--data", str(data))
    with running(*arguments, FAKE_APP_KILLS=str(data / "lock")) as service:
        code, output = service.end()
    assert code == 1
    assert output.splitlines()[-1].startswith("dynoxide stopped with exit code -9: ")
    assert "Traceback" not in output
