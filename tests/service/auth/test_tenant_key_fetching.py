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
from keyfence.auth.jwks_refresh import MAX_KEYS, JwksFetcher, JwksUnavailable, JwksUrl
from keyfence.auth.signature_algorithms import VerificationKey
from keyfence.errors import Throttled
from tests.fakes.identity_provider import IdentityProvider, jwk, private_key
from tests.fakes.jwks_server import JwksServer, running_jwks_server
from tests.fakes.tls import CertificateAuthority

NAME = "id.acme.example"
LOOPBACK = "127.0.0.1"


@dataclass
class Names:
    """A resolver with answers that a test can change. It counts the lookups."""

    answers: Iterator[Sequence[str]]
    asked: int = 0

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return next(self.answers)


def names(*answers: Sequence[str]) -> Names:
    """Returns a resolver that gives these answers in turn, and then the last one again and again."""
    return Names(itertools.chain(answers, itertools.repeat(answers[-1])))


def loopback_too(address: str) -> bool:
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
def reach(authority: CertificateAuthority) -> EgressPolicy:
    trusting = authority.client_context()
    return EgressPolicy(is_allowed=loopback_too, resolve=names([LOOPBACK]), tls_context=lambda: trusting)


def source(server: JwksServer, reach: EgressPolicy, bounds: FetchLimits = DEFAULT_LIMITS, host: str = NAME) -> JwksUrl:
    return JwksUrl(parse_tenant_uri(f"https://{host}:{server.server_port}/jwks"), reach, bounds)


def with_names(reach: EgressPolicy, resolve: Callable[[str, int], Sequence[str]]) -> EgressPolicy:
    return EgressPolicy(is_allowed=reach.is_allowed, resolve=resolve, tls_context=reach.tls_context)


def test_keys_are_fetched_over_https(server: JwksServer, reach: EgressPolicy) -> None:
    assert set(source(server, reach).fetch()) == {"k1"}


def test_the_certificate_must_be_for_the_host_name_and_not_for_the_address(
    server: JwksServer, reach: EgressPolicy, authority: CertificateAuthority
) -> None:
    server.tls = authority.server_context(LOOPBACK)
    with pytest.raises(JwksUnavailable, match="SSLCertVerificationError"):
        source(server, reach).fetch()
    assert server.hits == []


def test_a_certificate_of_an_untrusted_authority_is_refused(server: JwksServer, reach: EgressPolicy) -> None:
    stranger = ssl.create_default_context()
    with pytest.raises(JwksUnavailable, match="SSLCertVerificationError"):
        source(
            server, EgressPolicy(is_allowed=reach.is_allowed, resolve=reach.resolve, tls_context=lambda: stranger)
        ).fetch()
    assert server.hits == []


def test_an_answer_without_tls_is_refused(
    jwks_server: JwksServer, reach: EgressPolicy, provider: IdentityProvider
) -> None:
    jwks_server.publish(provider.jwks())
    with pytest.raises(JwksUnavailable):
        source(jwks_server, reach).fetch()
    assert jwks_server.hits == []


@pytest.mark.parametrize("address", [LOOPBACK, "10.0.0.1", "169.254.169.254", "fd00:ec2::254", "::ffff:127.0.0.1"])
def test_a_host_with_an_internal_address_is_refused(server: JwksServer, reach: EgressPolicy, address: str) -> None:
    public = EgressPolicy(
        is_allowed=PUBLIC_ADDRESSES.is_allowed, resolve=names([address]), tls_context=reach.tls_context
    )
    with pytest.raises(JwksUnavailable, match="not allowed"):
        source(server, public).fetch()
    assert server.connections == 0


@pytest.mark.parametrize("answer", [["10.0.0.1", LOOPBACK], [LOOPBACK, "10.0.0.1"]], ids=["first", "last"])
def test_a_host_with_one_internal_address_among_public_ones_is_refused(
    server: JwksServer, reach: EgressPolicy, answer: list[str]
) -> None:
    with pytest.raises(JwksUnavailable, match="not allowed"):
        source(server, with_names(reach, names(answer))).fetch()
    assert server.connections == 0


def test_a_host_without_an_address_is_refused(server: JwksServer, reach: EgressPolicy) -> None:
    with pytest.raises(JwksUnavailable, match="no address"):
        source(server, with_names(reach, names([]))).fetch()


def test_a_host_is_resolved_once_and_the_checked_address_is_used(server: JwksServer, reach: EgressPolicy) -> None:
    rebinding = names([LOOPBACK], ["10.0.0.1"])
    assert set(source(server, with_names(reach, rebinding)).fetch()) == {"k1"}
    assert rebinding.asked == 1


def test_only_addresses_of_the_host_are_connected_to(server: JwksServer, reach: EgressPolicy) -> None:
    elsewhere = EgressPolicy(is_allowed=lambda _: True, resolve=names(["127.0.0.2"]), tls_context=reach.tls_context)
    with pytest.raises(JwksUnavailable):
        source(server, elsewhere, FetchLimits(idle_seconds=0.5)).fetch()
    assert server.connections == 0


def test_the_next_address_is_tried_if_the_first_does_not_answer(server: JwksServer, reach: EgressPolicy) -> None:
    two = EgressPolicy(is_allowed=lambda _: True, resolve=names(["127.0.0.2", LOOPBACK]), tls_context=reach.tls_context)
    assert set(source(server, two).fetch()) == {"k1"}


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "localhost"])
def test_a_name_for_a_loopback_address_is_refused_when_it_is_resolved(host: str) -> None:
    with pytest.raises(EgressDenied):
        PUBLIC_ADDRESSES.addresses(FetchTarget(host=host, port=443, request_target="/jwks"))


def test_proxies_of_the_environment_are_not_used(
    server: JwksServer, jwks_server: JwksServer, reach: EgressPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, jwks_server.url(""))
    assert set(source(server, reach).fetch()) == {"k1"}
    assert jwks_server.connections == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure(server: JwksServer, reach: EgressPolicy, status: int) -> None:
    server.status, server.headers = status, {"Location": f"https://{NAME}:{server.server_port}/elsewhere"}
    with pytest.raises(JwksUnavailable, match=str(status)):
        source(server, reach).fetch()
    assert server.hits == ["/jwks"]


def test_a_body_of_exactly_the_limit_is_read_and_one_byte_more_is_not(server: JwksServer, reach: EgressPolicy) -> None:
    server.body = server.body.ljust(MAX_BODY_BYTES)
    assert set(source(server, reach).fetch()) == {"k1"}
    server.body += b" "
    with pytest.raises(JwksUnavailable, match="more than"):
        source(server, reach).fetch()


def test_a_body_without_end_is_refused(server: JwksServer, reach: EgressPolicy) -> None:
    server.raw = itertools.chain([b"HTTP/1.1 200 OK\r\n\r\n"], itertools.repeat(b" " * 4096))
    with pytest.raises(JwksUnavailable, match="more than"):
        source(server, reach).fetch()


@pytest.mark.parametrize(
    "beginning",
    [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"],
    ids=["nothing", "status", "continue", "headers"],
)
def test_an_answer_that_is_sent_too_slowly_is_aborted_at_the_deadline(
    server: JwksServer, reach: EgressPolicy, beginning: bytes
) -> None:
    server.raw = itertools.chain([beginning], _drops())
    with pytest.raises(JwksUnavailable, match="Timeout"):
        source(server, reach, FetchLimits(total_seconds=0.2)).fetch()


def _drops() -> Iterator[bytes]:
    while True:
        sleep(0.01)
        yield b"x"


def test_an_answer_that_comes_after_the_deadline_is_not_waited_for(server: JwksServer, reach: EgressPolicy) -> None:
    server.raw = iter([b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(server.body), server.body)])
    server.answers.clear()
    late = Timer(3, server.answers.set)
    late.start()
    with pytest.raises(JwksUnavailable, match="Timeout"):
        source(server, reach, FetchLimits(idle_seconds=30, total_seconds=1)).fetch()
    late.cancel()


def test_a_server_that_accepts_and_sends_nothing_is_abandoned(reach: EgressPolicy) -> None:
    with socket.create_server((LOOPBACK, 0)) as silent:
        place = parse_tenant_uri(f"https://{NAME}:{silent.getsockname()[1]}/jwks")
        with pytest.raises(JwksUnavailable, match="Timeout"):
            JwksUrl(place, reach, FetchLimits(idle_seconds=0.05)).fetch()


@pytest.mark.parametrize("answer", [b"?" * 100, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"])
def test_an_answer_that_is_not_http_counts_as_an_outage(server: JwksServer, reach: EgressPolicy, answer: bytes) -> None:
    server.raw = iter([answer])
    with pytest.raises(JwksUnavailable):
        source(server, reach).fetch()


def test_a_set_of_too_many_keys_counts_as_an_outage(server: JwksServer, reach: EgressPolicy) -> None:
    key = private_key("ES256")
    server.publish({"keys": [jwk(key, f"k{number}") for number in range(MAX_KEYS)]})
    assert len(source(server, reach).fetch()) == MAX_KEYS
    server.publish({"keys": [jwk(key, f"k{number}") for number in range(MAX_KEYS + 1)]})
    with pytest.raises(JwksUnavailable, match="more than"):
        source(server, reach).fetch()


def test_private_keys_in_a_set_are_ignored(server: JwksServer, reach: EgressPolicy) -> None:
    server.publish({"keys": [jwk(private_key("ES256"), "secret", d="c2VjcmV0"), jwk(private_key("ES256"), "public")]})
    assert set(source(server, reach).fetch()) == {"public"}


async def test_a_slow_provider_delays_only_its_own_tenant(
    authority: CertificateAuthority, reach: EgressPolicy, provider: IdentityProvider
) -> None:
    with ExitStack() as stack:
        slow, *quick = (stack.enter_context(running_jwks_server(authority.server_context(NAME))) for _ in range(5))
        slow.answers.clear()
        for server in (slow, *quick):
            server.publish(provider.jwks())
        published = JwksFetcher(egress=reach, threads=2)
        waiting = asyncio.create_task(_found(published, slow))
        found = await asyncio.gather(*(_found(published, server) for server in quick))
        assert all(found)
        assert not waiting.done()
        slow.answers.set()
        assert await waiting
        published.close()


async def test_no_more_fetches_than_threads_run_at_once(
    authority: CertificateAuthority, reach: EgressPolicy, provider: IdentityProvider
) -> None:
    with running_jwks_server(authority.server_context(NAME)) as server:
        server.publish(provider.jwks())
        server.answers.clear()
        published = JwksFetcher(egress=reach, threads=3)
        waiting = [asyncio.create_task(_found(published, server)) for _ in range(20)]
        await asyncio.to_thread(server.hit.acquire)
        await asyncio.to_thread(server.hit.acquire)
        await asyncio.to_thread(server.hit.acquire)
        assert not await asyncio.to_thread(server.hit.acquire, timeout=0.1)
        server.answers.set()
        assert all(await asyncio.gather(*waiting))
        published.close()


async def test_a_token_whose_keys_are_at_an_internal_address_is_throttled(
    server: JwksServer, reach: EgressPolicy
) -> None:
    published = JwksFetcher(
        egress=EgressPolicy(is_allowed=is_public_address, resolve=names([LOOPBACK]), tls_context=reach.tls_context)
    )
    with pytest.raises(Throttled):
        await _found(published, server)
    assert server.connections == 0
    published.close()


async def test_internal_addresses_are_refused_by_default(server: JwksServer) -> None:
    published = JwksFetcher()
    with pytest.raises(Throttled):
        await published.key_set(f"https://localhost:{server.server_port}/jwks", "https://id.acme.example").find("k1")
    assert server.connections == 0
    published.close()


async def _found(published: JwksFetcher, server: JwksServer) -> VerificationKey | None:
    keys = published.key_set(f"https://{NAME}:{server.server_port}/jwks", "https://id.acme.example")
    return await keys.find("k1")
