"""The DynamoDB client trusts the configured certificates alone, and reaches DynamoDB through a proxy."""

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from keyfence.store.dynamodb.error_codes import DynamoDbError
from tests.fakes.raw_http_server import Handler, RawConnection, echo, raw_http_server
from tests.fakes.tls import CertificateAuthority
from tests.service.store.http_client.conftest import Connect, RawClient


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CertificateAuthority:
    """A certificate authority that clients trust."""
    authority = CertificateAuthority(tmp_path)
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(authority.certificate_file()))
    return authority


async def is_refused(client: RawClient) -> str:
    """Returns the text of the error of a call."""
    with pytest.raises(DynamoDbError, match="ConnectionLost") as raised:
        await client.echo(1)
    return str(raised.value)


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "AWS_CONFIG_FILE"])
async def test_a_certificate_of_the_configured_authority_is_accepted(
    connect: Connect, authority: CertificateAuthority, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_CA_BUNDLE")
    file = authority.certificate_file()
    if variable == "AWS_CONFIG_FILE":
        file = authority.directory / "config"
        file.write_text(f"[default]\nca_bundle = {authority.certificate_file()}\n")
    monkeypatch.setenv(variable, str(file))
    async with raw_http_server(echo, authority.server_context("127.0.0.1")) as server:
        client = connect(server.url)
        assert [await client.echo(number) for number in range(3)] == [0, 1, 2]
        assert len(server.connections) == 1


async def test_aws_ca_bundle_comes_before_requests_ca_bundle(
    connect: Connect, authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/does/not/exist")
    async with raw_http_server(echo, authority.server_context("127.0.0.1")) as server:
        assert await connect(server.url).echo(1) == 1


async def test_a_certificate_of_another_host_name_is_refused(connect: Connect, authority: CertificateAuthority) -> None:
    async with raw_http_server(echo, authority.server_context("dynamodb.example")) as server:
        assert "certificate is not valid for '127.0.0.1'" in await is_refused(connect(server.url))
        assert not server.requests


async def test_a_certificate_of_an_unknown_authority_is_refused(
    connect: Connect, authority: CertificateAuthority, tmp_path: Path
) -> None:
    other = CertificateAuthority(tmp_path, "another authority")
    async with raw_http_server(echo, other.server_context("127.0.0.1")) as server:
        assert "certificate verify failed" in await is_refused(connect(server.url))
        assert not server.requests


async def test_a_server_without_tls_gets_no_request(connect: Connect, authority: CertificateAuthority) -> None:
    async with raw_http_server(echo) as server:
        await is_refused(connect(server.url.replace("http:", "https:")))
        assert not server.requests


async def test_a_handshake_that_does_not_end_is_a_connect_timeout(
    connect: Connect, authority: CertificateAuthority
) -> None:
    async with raw_http_server(RawConnection.wait_until_closed) as server:
        client = connect(server.url.replace("http:", "https:"), connect_timeout_seconds=0.1)
        assert "ConnectTimeout" in await is_refused(client)
        await server.connections[0].wait_for_end()


async def test_a_call_that_is_cancelled_while_it_connects_closes_its_connection(
    connect: Connect, authority: CertificateAuthority
) -> None:
    async with raw_http_server(RawConnection.wait_until_closed) as server:
        call = asyncio.create_task(connect(server.url.replace("http:", "https:")).echo(1))
        await server.connection_arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.connections[0].wait_for_end()


async def tunnel(connection: RawConnection) -> None:
    """Works as a proxy: connects to the address of the CONNECT request, and copies bytes in both directions."""
    request = await connection.read_request()
    host, _, port = request.head.split()[1].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    connection.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
    try:
        await asyncio.gather(copy_bytes(connection.reader, writer), copy_bytes(reader, connection.writer))
    finally:
        writer.transport.abort()


async def copy_bytes(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while content := await source.read(65536):
            target.write(content)
    target.close()


@pytest.mark.parametrize("proxy_uses_tls", [False, True], ids=["http proxy", "https proxy"])
async def test_calls_go_through_the_proxy_with_tls_from_end_to_end(
    connect: Connect, authority: CertificateAuthority, proxy_uses_tls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls: ssl.SSLContext = authority.server_context("127.0.0.1")
    async with raw_http_server(echo, tls) as server, raw_http_server(tunnel, tls if proxy_uses_tls else None) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("://", "://me:pw@"))
        client = connect(server.url)
        assert [await client.echo(number) for number in range(3)] == [0, 1, 2]
        (request,) = proxy.requests
        authority_of_server = server.url.removeprefix("https://")
        assert request.head.startswith(f"CONNECT {authority_of_server} HTTP/1.1\r\nHost: {authority_of_server}\r\n")
        assert "Proxy-Authorization: Basic bWU6cHc=\r\n" in request.head
        assert not any("Proxy-Authorization" in request.head for request in server.requests)


async def test_no_proxy_names_hosts_that_are_called_directly(
    connect: Connect, authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_http_server(echo, authority.server_context("127.0.0.1")) as server:
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert await connect(server.url).echo(1) == 1


async def test_a_certificate_of_another_host_name_is_refused_behind_a_proxy(
    connect: Connect, authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        raw_http_server(echo, authority.server_context("dynamodb.example")) as server,
        raw_http_server(tunnel) as proxy,
    ):
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        assert "certificate is not valid for '127.0.0.1'" in await is_refused(connect(server.url))
        assert not server.requests


def answer_connect(content: bytes) -> Handler:
    async def handler(connection: RawConnection) -> None:
        await connection.read_request()
        connection.send(content)
        await connection.writer.drain()

    return handler


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno", "407"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "502"),
        (b"SSH-2.0\r\n", "something else than HTTP"),
        (b"", "something else than HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\nbytes", "something else than HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "cannot connect"),
    ],
)
async def test_a_proxy_that_opens_no_tunnel_is_a_lost_connection(
    connect: Connect, authority: CertificateAuthority, content: bytes, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_http_server(answer_connect(content)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        assert text in await is_refused(connect("https://dynamodb.example"))
        assert len(proxy.requests) == 1


async def test_a_proxy_that_does_not_answer_is_a_connect_timeout(
    connect: Connect, authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def handler(connection: RawConnection) -> None:
        await connection.read_request()
        await connection.wait_until_closed()

    async with raw_http_server(handler) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        client = connect("https://dynamodb.example", connect_timeout_seconds=0.1)
        assert "ConnectTimeout" in await is_refused(client)
        await proxy.connections[0].wait_for_end()
