"""The options of the test suite, its markers, and the fixtures that start the service on an engine."""

import gc
import itertools
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import structlog
from cryptography.hazmat.primitives.asymmetric import ec

from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.local.engines.engine import Engine
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.engines import ENGINES, EngineName, Engines, dynoxide_binary, preferred_engine
from tests.stack import ApiClient, ServiceStack
from tests.tier import Tier

ENGINE_FIXTURES = {"engine_name", "engines", "dynoxide_program"}
"""A test that uses one of these fixtures needs an engine, and gets the marker `engine`."""

AWS_TABLE_VARIABLE = "KEYFENCE_TEST_TABLE"
"""Tests with the marker `aws` are left out if this environment variable is not set."""

EXTRA_WORKERS = 2
"""How many more processes than processors run tests, because tests often wait for other processes and for timeouts."""

SLOW_FOLDERS = ("tests/system/commands/", "tests/system/jobs/")
"""Their tests run first. So at the end of a run no worker has a slow test left while the others have none."""

_table_numbers = itertools.count(1)

# structlog's default formatter prints every traceback with all its variables, which takes seconds. Log lines go to
# stderr, as those of commands do: on stdout they would get between the JSON lines that a test reads.
structlog.configure(
    processors=[structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)],
    logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all",
        action="store_true",
        help="run the full tier: both engines, whole matrices, crashes, killed processes, large tenants",
    )
    parser.addoption("--engine", choices=ENGINES, help="run on this engine alone")


def pytest_configure(config: pytest.Config) -> None:
    tier.select(Tier.FULL if config.getoption("--all") else Tier.DEFAULT)


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Returns the number of processes for `-n auto`."""
    return (yield) + EXTRA_WORKERS


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keeps the garbage collector from visiting all modules and collected tests, now and during the tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_report_header(config: pytest.Config) -> str:
    return f"tier: {tier.selected()}; engine: {' and '.join(_selected_engines(config, one_engine=False))}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine_name" in metafunc.fixturenames:
        one_engine = metafunc.definition.get_closest_marker("one_engine") is not None
        metafunc.parametrize("engine_name", _selected_engines(metafunc.config, one_engine=one_engine), scope="module")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        _mark_by_fixtures(item)
    deselected_items = [item for item in items if _is_left_out(item)]
    if deselected_items:
        config.hook.pytest_deselected(items=deselected_items)
        items[:] = [item for item in items if not _is_left_out(item)]
    items.sort(key=lambda item: not item.nodeid.startswith(SLOW_FOLDERS))


def _selected_engines(config: pytest.Config, *, one_engine: bool) -> tuple[EngineName, ...]:
    engine_option: EngineName | None = config.getoption("--engine")
    if engine_option:
        return (engine_option,)
    if one_engine or tier.selected() is Tier.DEFAULT:
        return (preferred_engine(),)
    return ENGINES


def _mark_by_fixtures(item: pytest.Item) -> None:
    fixtures = set(getattr(item, "fixturenames", ()))
    if fixtures & ENGINE_FIXTURES:
        item.add_marker("engine")
    if "npm_packages" in fixtures:
        item.add_marker("npm")
    if "aws" in fixtures:
        item.add_marker("aws")


def _is_left_out(item: pytest.Item) -> bool:
    if item.get_closest_marker("aws") and AWS_TABLE_VARIABLE not in os.environ:
        return True
    return tier.selected() is Tier.DEFAULT and item.get_closest_marker("full") is not None


@pytest.fixture(scope="session", autouse=True)
def fixed_log_configuration() -> Iterator[None]:
    """Keeps a service that one test starts from changing the log configuration of all other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("keyfence.log.configure", lambda **_: None)
        yield


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def shared_engines() -> Iterator[dict[str, Engine]]:
    """The engines that all test modules share, by name. `Engines` starts them."""
    started: dict[str, Engine] = {}
    yield started
    for engine in started.values():
        engine.stop()


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory, shared_engines: dict[str, Engine]) -> Iterator[Engines]:
    started = Engines(tmp_path_factory.mktemp("dynoxide"), shared_engines)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def engine_url(engine_name: EngineName, engines: Engines) -> str:
    return engines[engine_name].url


@pytest.fixture(scope="session")
def dynoxide_program() -> Path:
    return dynoxide_binary()


@pytest.fixture(scope="session")
def issuer() -> DevelopmentIssuer:
    return DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1()))


@pytest.fixture(scope="module")
def stack(engine_url: str, issuer: DevelopmentIssuer) -> Iterator[ServiceStack]:
    """The service on an engine behind a gate. Each test module has its own table, so that tables stay small."""
    stack = ServiceStack.start(engine_url, f"keyfence-{next(_table_numbers)}", issuer)
    yield stack
    stack.close()


@pytest.fixture
async def tenant(stack: ServiceStack) -> TenantId:
    return await stack.new_tenant()


@pytest.fixture
def owner(stack: ServiceStack, tenant: TenantId) -> ApiClient:
    return stack.api_client(tenant)
