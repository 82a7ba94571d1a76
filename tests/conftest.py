"""Engines and worlds for every test that needs them."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from cryptography.hazmat.primitives.asymmetric import ec

from keyfence.local.engines import dynoxide, moto
from keyfence.local.engines.engine import Engine
from keyfence.local.issuer import LocalIssuer
from keyfence_iam.tenant import TenantId
from tests.dynoxide_binary import dynoxide_binary
from tests.world import Session, World

_tables = itertools.count(1)

structlog.configure(processors=[structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)])
"""Left to itself it would draw every traceback with all its variables, which takes seconds."""


def _quiet(_: str) -> None:
    """Progress that nobody follows."""


@pytest.fixture(scope="session", autouse=True)
def undisturbed_log() -> Iterator[None]:
    """A service that is composed in a test does not take the log away from tests that look into it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("keyfence.log.configure", lambda **_: None)
        yield


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


class Engines:
    """The engines of a module of tests, each started when it is first wanted.

    dynoxide grows slower with everything that was ever written to it and starts in no time, so every module has its
    own; moto, which starts slowly, is one for all."""

    def __init__(self, directory: Path, lasting: dict[str, Engine]) -> None:
        self._directory = directory
        self._lasting = lasting
        self._own: dict[str, Engine] = {}

    def __getitem__(self, name: str) -> Engine:
        if name == "moto":
            return self._lasting.get(name) or self._lasting.setdefault(name, moto.start(_quiet))
        return self._own.get(name) or self._own.setdefault(name, self._dynoxide())

    def stop(self) -> None:
        for engine in self._own.values():
            engine.stop()

    def _dynoxide(self) -> Engine:
        return dynoxide.start(self._directory, _quiet, dynoxide_binary())


@pytest.fixture(scope="session")
def lasting() -> Iterator[dict[str, Engine]]:
    started: dict[str, Engine] = {}
    yield started
    for engine in started.values():
        engine.stop()


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory, lasting: dict[str, Engine]) -> Iterator[Engines]:
    started = Engines(tmp_path_factory.mktemp("dynoxide"), lasting)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def issuer() -> LocalIssuer:
    return LocalIssuer(key=ec.generate_private_key(ec.SECP256R1()))


@pytest.fixture(scope="module", params=["moto", "dynoxide"])
def world(request: pytest.FixtureRequest, engines: Engines, issuer: LocalIssuer) -> Iterator[World]:
    """The service on each engine behind a gate, with a table of its own for every module so that no test waits for
    another's data."""
    made = World.over(engines[request.param].url, f"keyfence-{next(_tables)}", issuer)
    yield made
    made.close()


@pytest.fixture
async def tenant(world: World) -> TenantId:
    return await world.new_tenant()


@pytest.fixture
def owner(world: World, tenant: TenantId) -> Session:
    return world.session(tenant)
