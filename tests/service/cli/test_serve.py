"""keyfence serve starts only with complete settings, and names every problem."""

import contextlib
import json
import secrets
import signal
import socket
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from keyfence.local.data_directory import cursor_key
from keyfence.local.development_issuer import load_development_issuer
from tests.service.cli.conftest import Run, error_message
from tests.service.cli.keyfence_process import running

ISSUERS = json.dumps([{"issuer": "https://id.example.com", "jwks_uri": "https://id.example.com/keys"}])


def complete_settings(**changes: str) -> dict[str, str]:
    settings = {
        "KEYFENCE_ISSUERS": ISSUERS,
        "KEYFENCE_CURSOR_KEYS": secrets.token_urlsafe(32),
        "KEYFENCE_INDEX_KEY": secrets.token_urlsafe(32),
        "KEYFENCE_ROLE_ARN_PREFIX": "arn:aws:iam::123456789012:role/keyfence-",
        "KEYFENCE_REGION": "eu-west-1",
    }
    return {**settings, **changes}


@pytest.fixture
def uvicorn_calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Collects the arguments that uvicorn is started with."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr("uvicorn.run", lambda application, **options: calls.append({"app": application, **options}))
    return calls


def set_environment(monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def wait_for(port: int) -> None:
    """Waits for the port: uvicorn loads the application before it listens."""
    for _ in range(600):
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port)).close()
        time.sleep(0.1)
    raise AssertionError(f"nothing listens on port {port}")


def test_every_missing_setting_is_named_on_its_own_line(run: Run, uvicorn_calls: list[dict[str, Any]]) -> None:
    heading, *lines = error_message(run("serve")).splitlines()
    assert heading == "keyfence serve cannot start:"
    assert {line.split()[0] for line in lines} == set(complete_settings())
    assert uvicorn_calls == []


def test_development_keys_are_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uvicorn_calls: list[dict[str, Any]]
) -> None:
    issuer = load_development_issuer(tmp_path)
    issuers = json.dumps([{"issuer": "https://id.example.com", "jwks": issuer.jwks()}])
    set_environment(
        monkeypatch, **complete_settings(KEYFENCE_ISSUERS=issuers, KEYFENCE_CURSOR_KEYS=cursor_key(tmp_path))
    )
    _, *lines = error_message(run("serve")).splitlines()
    assert len(lines) == 2
    assert all("development" in line for line in lines)
    assert uvicorn_calls == []


@pytest.mark.parametrize("name", sorted(complete_settings()))
def test_each_required_setting_is_named_if_it_is_missing(
    run: Run, name: str, monkeypatch: pytest.MonkeyPatch, uvicorn_calls: list[dict[str, Any]]
) -> None:
    set_environment(monkeypatch, **{other: value for other, value in complete_settings().items() if other != name})
    _, line = error_message(run("serve")).splitlines()
    assert line.strip().startswith(f"{name} is missing")
    assert uvicorn_calls == []


def test_check_reports_complete_settings_and_serves_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, uvicorn_calls: list[dict[str, Any]]
) -> None:
    set_environment(monkeypatch, **complete_settings())
    result = run("serve", "--check")
    assert (result.exit_code, result.stdout) == (0, "The settings are complete.\n")
    assert uvicorn_calls == []


def test_check_fails_as_serve_would(run: Run) -> None:
    assert "KEYFENCE_ISSUERS" in error_message(run("serve", "--check"))


def test_problems_that_appear_only_when_credentials_are_used_are_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch, **complete_settings(KEYFENCE_TABLE="unreachable"))
    assert "AWS credentials: there are none" in error_message(run("serve", "--check"))


def test_an_endpoint_that_is_not_a_url_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, **complete_settings(KEYFENCE_ENDPOINT_URL="notaurl"))
    assert "KEYFENCE_ENDPOINT_URL is not an http or https URL" in error_message(run("serve", "--check"))


def test_a_region_from_aws_configuration_is_enough(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = complete_settings(AWS_DEFAULT_REGION="eu-west-1")
    del environment["KEYFENCE_REGION"]
    set_environment(monkeypatch, **environment)
    assert run("serve", "--check").exit_code == 0


def test_workers_timeouts_and_address_come_from_the_settings(
    run: Run, monkeypatch: pytest.MonkeyPatch, uvicorn_calls: list[dict[str, Any]]
) -> None:
    set_environment(
        monkeypatch, **complete_settings(KEYFENCE_PORT="0", KEYFENCE_WORKERS="3", KEYFENCE_SHUTDOWN_SECONDS="7")
    )
    assert run("serve").exit_code == 0
    (options,) = uvicorn_calls
    assert (options["app"], options["factory"], options["loop"]) == (
        "keyfence.app.production:application",
        True,
        "uvloop",
    )
    assert (options["host"], options["port"], options["workers"]) == ("127.0.0.1", 0, 3)
    assert options["timeout_graceful_shutdown"] == 7


def test_forwarded_headers_are_used_from_trusted_proxies_only(
    run: Run, monkeypatch: pytest.MonkeyPatch, uvicorn_calls: list[dict[str, Any]]
) -> None:
    set_environment(monkeypatch, **complete_settings(KEYFENCE_PORT="0"))
    run("serve")
    set_environment(monkeypatch, KEYFENCE_TRUSTED_PROXIES="10.0.0.0/8, 192.0.2.1")
    run("serve")
    proxy_options = [(options["proxy_headers"], options["forwarded_allow_ips"]) for options in uvicorn_calls]
    assert proxy_options == [(False, []), (True, ["10.0.0.0/8", "192.0.2.1"])]


def test_a_busy_port_is_an_error(
    run: Run, monkeypatch: pytest.MonkeyPatch, uvicorn_calls: list[dict[str, Any]]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        set_environment(monkeypatch, **complete_settings(KEYFENCE_PORT=str(taken.getsockname()[1])))
        assert "is already in use" in error_message(run("serve"))
    assert uvicorn_calls == []


def test_it_serves_until_a_signal() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with running("serve", **complete_settings(KEYFENCE_PORT=str(port))) as service:
        service.read_until("serving")
        wait_for(port)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60) as answer:
            assert answer.status == 200
        code, output = service.end(signal.SIGTERM)
    assert code == -signal.SIGTERM
    assert "Traceback" not in output
