"""keyfence with a small application in place of the real one: `python -m tests.unit.cli.stand_in dev ...`."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from service.settings import Settings
from tests.unit.local.dynamodb import create_table, tables


def application() -> ModuleType:
    """A module with what the commands expect of service.app."""
    module = ModuleType("service.app")
    vars(module).update(local=local, set_up=set_up, region=region, obstacles=obstacles, production=production)
    return module


def local(settings: Settings) -> Starlette:
    """Answers every query with the caller's token and the tables of the engine."""

    async def answer(request: Request) -> JSONResponse:
        found = await asyncio.to_thread(tables, str(settings.endpoint_url))
        return JSONResponse({"asked": await request.json(), "as": request.headers["authorization"], "tables": found})

    return Starlette(routes=[Route("/graphql", answer, methods=["POST"])])


async def set_up(settings: Settings, progress: Callable[[str], None]) -> None:
    """Makes the table of the settings, after killing the engine whose lock file STAND_IN_KILLS names."""
    progress("creating the table")
    if lock := os.environ.get("STAND_IN_KILLS"):
        kill_engine(Path(lock))
    url = str(settings.endpoint_url)
    if settings.table not in tables(url):
        create_table(url, settings.table)


def kill_engine(lock: Path) -> None:
    os.kill(int(lock.read_text().split()[-1]), signal.SIGKILL)


def production() -> Starlette:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        print("serving", flush=True)
        yield

    return Starlette(routes=[Route("/healthz", lambda _: JSONResponse({}))], lifespan=lifespan)


def obstacles(settings: Settings) -> list[str]:
    return ["AWS credentials: there are none"] if settings.table == "unreachable" else []


def region() -> str | None:
    return os.environ.get("AWS_DEFAULT_REGION")


if __name__ == "__main__":
    from service.__main__ import main

    sys.modules["service.app"] = application()
    main()
