"""A command finds the gate of its data directory, and refuses every other gate."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keyfence.cli.table_connection import check_gate, remembered_gate_url
from keyfence.errors import BadInput
from keyfence.local.data_directory import (
    FORMAT_FILE,
    DirectoryUnusable,
    GateRecord,
    data_directory,
    gate_key,
    save_gate_record,
)
from keyfence.local.gate_access import session_issuer
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles import ROLES
from tests.service.cli.conftest import Run, error_message

DEPLOYMENT = Deployment()


@contextmanager
def gate_on(directory: Path, port: int = 0) -> Iterator[Gate]:
    """Runs a gate as `keyfence dev` does: with the key of the directory, and saves its address there."""
    account = Account.from_definitions(ROLES, DEPLOYMENT)
    key = gate_key(data_directory(directory))
    with Gate.start(engine_url="http://127.0.0.1:1", account=account, key=key, port=port) as gate:
        record = GateRecord(url=gate.url, account=DEPLOYMENT.account, region=DEPLOYMENT.region)
        save_gate_record(directory, record)
        yield gate


def test_each_directory_has_its_own_gate_which_refuses_sessions_of_the_other(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    with gate_on(one) as first, gate_on(other) as second:
        assert (remembered_gate_url(one), remembered_gate_url(other)) == (first.url, second.url)
        check_gate(first.url, session_issuer(one, DEPLOYMENT))
        check_gate(second.url, session_issuer(other, DEPLOYMENT))
        with pytest.raises(BadInput, match=f"The gate at {second.url} belongs to another data directory"):
            check_gate(second.url, session_issuer(one, DEPLOYMENT))


def test_a_gate_that_took_the_port_of_a_stopped_one_is_refused(run: Run, tmp_path: Path) -> None:
    with gate_on(tmp_path / "stopped") as gate:
        port = int(gate.url.rsplit(":", 1)[1])
    with gate_on(tmp_path / "other", port) as other:
        message = error_message(run("tenant", "list", "--data", tmp_path / "stopped"))
    assert message.startswith(
        f"The gate at {other.url} belongs to another data directory. Name that directory with --data, or start"
    )


def test_a_stopped_gate_is_an_error_with_its_address_and_advice(run: Run, tmp_path: Path) -> None:
    with gate_on(tmp_path) as gate:
        pass
    message = error_message(run("tenant", "list", "--data", tmp_path))
    assert message == (
        f"No gate answers at {gate.url}. Start `keyfence dev` or `keyfence gate` on this data directory."
    )


@pytest.mark.parametrize("command", [["tenant", "list"], ["hot"], ["top", "--once"]], ids=" ".join)
def test_a_directory_without_a_gate_is_an_error_with_advice(run: Run, tmp_path: Path, command: list[str]) -> None:
    gate_key(tmp_path)
    message = error_message(run(*command, "--data", tmp_path))
    assert message.startswith(f"No gate was started on the data directory {tmp_path}. Start `keyfence dev --data")


class NotAGate(http.server.BaseHTTPRequestHandler):
    """A web server that answers every POST with 404."""

    def do_POST(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


def test_a_server_that_is_not_a_gate_is_refused(run: Run, tmp_path: Path) -> None:
    gate_key(tmp_path)
    with http.server.HTTPServer(("127.0.0.1", 0), NotAGate) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        message = error_message(run("tenant", "list", "--data", tmp_path, "--endpoint-url", url))
    assert message.startswith(f"The server at {url} is not a gate.")


@pytest.mark.parametrize(
    "command",
    [["tenant", "list"], ["credentials", "--tenant", "acme"], ["token", "--admin"], ["top", "--once"], ["dev"]],
    ids=" ".join,
)
def test_every_command_refuses_a_directory_of_another_version(run: Run, tmp_path: Path, command: list[str]) -> None:
    gate_key(tmp_path)
    (tmp_path / FORMAT_FILE).write_text("0\n")
    message = error_message(run(*command, "--data", tmp_path))
    assert message.startswith(f"Another version of Keyfence created the data directory {tmp_path}: it has format 0")
    with pytest.raises(DirectoryUnusable):
        session_issuer(tmp_path, DEPLOYMENT)
