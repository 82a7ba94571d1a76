"""keyfence with a small application instead of the real one: `python -m tests.service.cli.fake_app dev ...`."""

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

from keyfence.settings import Settings
from keyfence.store.dynamodb.client import ConnectionOptions
from keyfence.store.dynamodb.table_definition import TableAdmin
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.roles.names import PROVISIONER

FOUND: list[bool] = []
"""For each start: whether the table existed before."""


def modules() -> dict[str, ModuleType]:
    """Returns the parts of keyfence.app that commands use, by module name."""
    made = {name: ModuleType(name) for name in ("keyfence.app.local_development", "keyfence.app.production")}
    vars(made["keyfence.app.local_development"]).update(application=local, prepare_table=set_up)
    vars(made["keyfence.app.production"]).update(application=production, startup_problems=obstacles)
    return made


def local(settings: Settings, sessions: SessionIssuer) -> Starlette:
    """Answers every query with the request, the caller's token and the state of the table."""

    async def answer(request: Request) -> JSONResponse:
        differences = await asyncio.to_thread(administration(settings, sessions).differences)
        body, bearer = await request.json(), request.headers["authorization"]
        return JSONResponse({"request": body, "as": bearer, "found": FOUND, "differences": differences})

    return Starlette(routes=[Route("/graphql", answer, methods=["POST"])])


async def set_up(settings: Settings, sessions: SessionIssuer, progress: Callable[[str], None]) -> None:
    """Creates the table. If FAKE_APP_KILLS names a lock file, kills the engine of that lock first."""
    progress("creating the table")
    if lock := os.environ.get("FAKE_APP_KILLS"):
        kill_engine(Path(lock))
    FOUND.append(not administration(settings, sessions).create())


def administration(settings: Settings, sessions: SessionIssuer) -> TableAdmin:
    wire = ConnectionOptions(region=settings.region, endpoint_url=settings.endpoint_url)
    return TableAdmin.connect(wire, settings.table, {}, sessions.issue_service_session(PROVISIONER).credentials)


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


if __name__ == "__main__":
    from keyfence.__main__ import main

    sys.modules.update(modules())
    main()
