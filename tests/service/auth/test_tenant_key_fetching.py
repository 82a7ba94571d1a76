"""Keys are fetched from a tenant's URI without trust in the tenant, the network or the answer."""

import asyncio
import itertools
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from time import sleep

import pytest

from keyfence.auth.egress import (
    PUBLIC_ADDRESSES,
    EgressDenied,
    EgressPolicy,
    FetchTarget,
    is_public_address,
    parse_tenant_uri,
)
from keyfence.auth.http_get import DEFAULT_LIMITS, MAX_BODY_BYTES, FetchLimits
from keyfence.auth.jwks_refresh import JwksFetcher
from keyfence.auth.jwks_url import MAX_KEYS, JwksUnavailable, JwksUrl
from keyfence.auth.key_set import VerificationKey
from keyfence.errors import Throttled
from tests.fakes.identity_provider import IdentityProvider, jwk, private_key
from tests.fakes.jwks_server import JwksServer, running_jwks_server
from tests.fakes.tls import CertificateAuthority

NAME = "id.acme.example"
LOOPBACK = "127.0.0.1"


@dataclass
class ScriptedResolver:
    """A DNS resolver that returns its answers one after the other. It counts the lookups."""

    answers: Iterator[Sequence[str]]
    lookups: int = 0

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.lookups += 1
        return next(self.answers)


def resolver(*answers: Sequence[str]) -> ScriptedResolver:
    """Returns a resolver with these answers. After the last answer it repeats the last answer."""
    return ScriptedResolver(itertools.chain(answers, itertools.repeat(answers[-1])))


def is_loopback_or_public(address: str) -> bool:
    return address == LOOPBACK or is_public_address(address)


@pytest.fixture
def authority(tmp_path: Path) -> CertificateAuthority:
    return CertificateAuthority(tmp_path)


@pytest.fixture
def server(authority: CertificateAuthority, provider: IdentityProvider) -> Iterator[JwksServer]:
    with running_jwks_server(authority.server_context(NAME)) as started:
        started.publish(provider.jwks())
        yield started


@pytest.fixture
def egress(authority: CertificateAuthority) -> EgressPolicy:
    trusting_context = authority.client_context()
    return EgressPolicy(
        is_allowed=is_loopback_or_public, resolve=resolver([LOOPBACK]), tls_context=lambda: trusting_context
    )


def jwks_url(
    server: JwksServer, egress: EgressPolicy, limits: FetchLimits = DEFAULT_LIMITS, host: str = NAME
) -> JwksUrl:
    return JwksUrl(parse_tenant_uri(f"https://{host}:{server.server_port}/jwks"), egress, limits)


def with_resolver(egress: EgressPolicy, resolve: Callable[[str, int], Sequence[str]]) -> EgressPolicy:
    return EgressPolicy(is_allowed=egress.is_allowed, resolve=resolve, tls_context=egress.tls_context)


def test_keys_are_fetched_over_https(server: JwksServer, egress: EgressPolicy) -> None:
    assert set(jwks_url(server, egress).fetch()) == {"k1"}


def test_the_certificate_must_be_for_the_host_name_and_not_for_the_address(
    server: JwksServer, egress: EgressPolicy, authority: CertificateAuthority
) -> None:
    server.tls = authority.server_context(LOOPBACK)
    with pytest.raises(JwksUnavailable, match="SSLCertVerificationError"):
        jwks_url(server, egress).fetch()
    assert server.requested_paths == []


def test_a_certificate_of_an_untrusted_authority_is_refused(server: JwksServer, egress: EgressPolicy) -> None:
    system_context = ssl.create_default_context()
    with pytest.raises(JwksUnavailable, match="SSLCertVerificationError"):
        jwks_url(
            server,
            EgressPolicy(is_allowed=egress.is_allowed, resolve=egress.resolve, tls_context=lambda: system_context),
        ).fetch()
    assert server.requested_paths == []


def test_an_answer_without_tls_is_refused(
    jwks_server: JwksServer, egress: EgressPolicy, provider: IdentityProvider
) -> None:
    jwks_server.publish(provider.jwks())
    with pytest.raises(JwksUnavailable):
        jwks_url(jwks_server, egress).fetch()
    assert jwks_server.requested_paths == []


@pytest.mark.parametrize("address", [LOOPBACK, "10.0.0.1", "169.254.169.254", "fd00:ec2::254", "::ffff:127.0.0.1"])
def test_a_host_with_an_internal_address_is_refused(server: JwksServer, egress: EgressPolicy, address: str) -> None:
    public_only = EgressPolicy(
        is_allowed=PUBLIC_ADDRESSES.is_allowed, resolve=resolver([address]), tls_context=egress.tls_context
    )
    with pytest.raises(JwksUnavailable, match="not allowed"):
        jwks_url(server, public_only).fetch()
    assert server.connections == 0


@pytest.mark.parametrize("answer", [["10.0.0.1", LOOPBACK], [LOOPBACK, "10.0.0.1"]], ids=["first", "last"])
def test_a_host_with_one_internal_address_among_public_ones_is_refused(
    server: JwksServer, egress: EgressPolicy, answer: list[str]
) -> None:
    with pytest.raises(JwksUnavailable, match="not allowed"):
        jwks_url(server, with_resolver(egress, resolver(answer))).fetch()
    assert server.connections == 0


def test_a_host_without_an_address_is_refused(server: JwksServer, egress: EgressPolicy) -> None:
    with pytest.raises(JwksUnavailable, match="no address"):
        jwks_url(server, with_resolver(egress, resolver([]))).fetch()


def test_a_host_is_resolved_once_and_the_checked_address_is_used(server: JwksServer, egress: EgressPolicy) -> None:
    rebinding_resolver = resolver([LOOPBACK], ["10.0.0.1"])
    assert set(jwks_url(server, with_resolver(egress, rebinding_resolver)).fetch()) == {"k1"}
    assert rebinding_resolver.lookups == 1


def test_only_addresses_of_the_host_are_connected_to(server: JwksServer, egress: EgressPolicy) -> None:
    elsewhere = EgressPolicy(is_allowed=lambda _: True, resolve=resolver(["127.0.0.2"]), tls_context=egress.tls_context)
    with pytest.raises(JwksUnavailable):
        jwks_url(server, elsewhere, FetchLimits(idle_seconds=0.5)).fetch()
    assert server.connections == 0


def test_the_next_address_is_tried_if_the_first_does_not_answer(server: JwksServer, egress: EgressPolicy) -> None:
    two_addresses = EgressPolicy(
        is_allowed=lambda _: True, resolve=resolver(["127.0.0.2", LOOPBACK]), tls_context=egress.tls_context
    )
    assert set(jwks_url(server, two_addresses).fetch()) == {"k1"}


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "localhost"])
def test_a_name_for_a_loopback_address_is_refused_when_it_is_resolved(host: str) -> None:
    with pytest.raises(EgressDenied):
        PUBLIC_ADDRESSES.addresses(FetchTarget(host=host, port=443, request_target="/jwks"))


def test_proxies_of_the_environment_are_not_used(
    server: JwksServer, jwks_server: JwksServer, egress: EgressPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, jwks_server.url(""))
    assert set(jwks_url(server, egress).fetch()) == {"k1"}
    assert jwks_server.connections == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure(server: JwksServer, egress: EgressPolicy, status: int) -> None:
    server.status, server.headers = status, {"Location": f"https://{NAME}:{server.server_port}/elsewhere"}
    with pytest.raises(JwksUnavailable, match=str(status)):
        jwks_url(server, egress).fetch()
    assert server.requested_paths == ["/jwks"]


def test_a_body_of_exactly_the_limit_is_read_and_one_byte_more_is_not(server: JwksServer, egress: EgressPolicy) -> None:
    server.body = server.body.ljust(MAX_BODY_BYTES)
    assert set(jwks_url(server, egress).fetch()) == {"k1"}
    server.body += b" "
    with pytest.raises(JwksUnavailable, match="more than"):
        jwks_url(server, egress).fetch()


def test_a_body_without_end_is_refused(server: JwksServer, egress: EgressPolicy) -> None:
    server.raw_chunks = itertools.chain([b"HTTP/1.1 200 OK\r\n\r\n"], itertools.repeat(b" " * 4096))
    with pytest.raises(JwksUnavailable, match="more than"):
        jwks_url(server, egress).fetch()


@pytest.mark.parametrize(
    "first_bytes",
    [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"],
    ids=["nothing", "status", "continue", "headers"],
)
def test_an_answer_that_is_sent_too_slowly_is_aborted_at_the_deadline(
    server: JwksServer, egress: EgressPolicy, first_bytes: bytes
) -> None:
    server.raw_chunks = itertools.chain([first_bytes], _single_bytes())
    with pytest.raises(JwksUnavailable, match="Timeout"):
        jwks_url(server, egress, FetchLimits(total_seconds=0.2)).fetch()


def _single_bytes() -> Iterator[bytes]:
    while True:
        sleep(0.01)
        yield b"x"


def test_a_fetch_ends_at_the_deadline_although_the_answer_comes_later(server: JwksServer, egress: EgressPolicy) -> None:
    server.raw_chunks = iter([b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(server.body), server.body)])
    server.may_answer.clear()
    late_answer = Timer(3, server.may_answer.set)
    late_answer.start()
    with pytest.raises(JwksUnavailable, match="Timeout"):
        jwks_url(server, egress, FetchLimits(idle_seconds=30, total_seconds=1)).fetch()
    late_answer.cancel()


def test_a_server_that_accepts_and_sends_nothing_is_abandoned(egress: EgressPolicy) -> None:
    with socket.create_server((LOOPBACK, 0)) as silent:
        target = parse_tenant_uri(f"https://{NAME}:{silent.getsockname()[1]}/jwks")
        with pytest.raises(JwksUnavailable, match="Timeout"):
            JwksUrl(target, egress, FetchLimits(idle_seconds=0.05)).fetch()


@pytest.mark.parametrize("answer", [b"?" * 100, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"])
def test_an_answer_that_is_not_http_counts_as_an_outage(
    server: JwksServer, egress: EgressPolicy, answer: bytes
) -> None:
    server.raw_chunks = iter([answer])
    with pytest.raises(JwksUnavailable):
        jwks_url(server, egress).fetch()


def test_a_set_of_too_many_keys_counts_as_an_outage(server: JwksServer, egress: EgressPolicy) -> None:
    key = private_key("ES256")
    server.publish({"keys": [jwk(key, f"k{number}") for number in range(MAX_KEYS)]})
    assert len(jwks_url(server, egress).fetch()) == MAX_KEYS
    server.publish({"keys": [jwk(key, f"k{number}") for number in range(MAX_KEYS + 1)]})
    with pytest.raises(JwksUnavailable, match="more than"):
        jwks_url(server, egress).fetch()


def test_private_keys_in_a_set_are_ignored(server: JwksServer, egress: EgressPolicy) -> None:
    server.publish({"keys": [jwk(private_key("ES256"), "secret", d="c2VjcmV0"), jwk(private_key("ES256"), "public")]})
    assert set(jwks_url(server, egress).fetch()) == {"public"}


async def test_a_slow_provider_delays_only_its_own_tenant(
    authority: CertificateAuthority, egress: EgressPolicy, provider: IdentityProvider
) -> None:
    with ExitStack() as stack:
        slow, *quick = (stack.enter_context(running_jwks_server(authority.server_context(NAME))) for _ in range(5))
        slow.may_answer.clear()
        for server in (slow, *quick):
            server.publish(provider.jwks())
        fetcher = JwksFetcher(egress=egress, threads=2)
        waiting = asyncio.create_task(_fetch_key(fetcher, slow))
        found_keys = await asyncio.gather(*(_fetch_key(fetcher, server) for server in quick))
        assert all(found_keys)
        assert not waiting.done()
        slow.may_answer.set()
        assert await waiting
        fetcher.close()


async def test_at_most_as_many_fetches_run_concurrently_as_there_are_threads(
    authority: CertificateAuthority, egress: EgressPolicy, provider: IdentityProvider
) -> None:
    with running_jwks_server(authority.server_context(NAME)) as server:
        server.publish(provider.jwks())
        server.may_answer.clear()
        fetcher = JwksFetcher(egress=egress, threads=3)
        waiting = [asyncio.create_task(_fetch_key(fetcher, server)) for _ in range(20)]
        await asyncio.to_thread(server.request_arrived.acquire)
        await asyncio.to_thread(server.request_arrived.acquire)
        await asyncio.to_thread(server.request_arrived.acquire)
        assert not await asyncio.to_thread(server.request_arrived.acquire, timeout=0.1)
        server.may_answer.set()
        assert all(await asyncio.gather(*waiting))
        fetcher.close()


async def test_a_token_whose_keys_are_at_an_internal_address_is_throttled(
    server: JwksServer, egress: EgressPolicy
) -> None:
    fetcher = JwksFetcher(
        egress=EgressPolicy(is_allowed=is_public_address, resolve=resolver([LOOPBACK]), tls_context=egress.tls_context)
    )
    with pytest.raises(Throttled):
        await _fetch_key(fetcher, server)
    assert server.connections == 0
    fetcher.close()


async def test_internal_addresses_are_refused_by_default(server: JwksServer) -> None:
    fetcher = JwksFetcher()
    with pytest.raises(Throttled):
        await fetcher.key_set(f"https://localhost:{server.server_port}/jwks", "https://id.acme.example").find("k1")
    assert server.connections == 0
    fetcher.close()


async def _fetch_key(fetcher: JwksFetcher, server: JwksServer) -> VerificationKey | None:
    keys = fetcher.key_set(f"https://{NAME}:{server.server_port}/jwks", "https://id.acme.example")
    return await keys.find("k1")


@pytest.mark.parametrize("allow", [False, True])
async def test_a_tenants_fetched_development_key_is_used_only_if_it_is_allowed(
    server: JwksServer, egress: EgressPolicy, provider: IdentityProvider, allow: bool
) -> None:
    (key,) = provider.jwks()["keys"]
    server.publish({"keys": [{**key, "kid": "dev-k1"}]})
    fetcher = JwksFetcher(egress=egress, allow_development_keys=allow)
    keys = fetcher.key_set(f"https://{NAME}:{server.server_port}/jwks", "https://id.acme.example")
    assert (await keys.find("dev-k1") is not None) == allow
    fetcher.close()
