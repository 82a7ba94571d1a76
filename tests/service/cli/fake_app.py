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

from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.settings import Settings
from keyfence.store.dynamodb.client import ConnectionOptions
from keyfence.store.dynamodb.table_definition import TableAdmin
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.roles.names import PROVISIONER

TABLE_EXISTED: list[bool] = []
"""For each start of the process, whether the table existed before."""


def modules() -> dict[str, ModuleType]:
    """Returns fake modules for those of keyfence.app that commands use, by module name."""
    fakes = {name: ModuleType(name) for name in ("keyfence.app.local_development", "keyfence.app.production")}
    vars(fakes["keyfence.app.local_development"]).update(application=local_application, prepare_table=prepare_table)
    vars(fakes["keyfence.app.production"]).update(
        application=production_application, startup_problems=fake_startup_problems
    )
    return fakes


def local_application(settings: Settings, sessions: SessionIssuer, _: DevelopmentIssuer) -> Starlette:
    """Answers every query with the request, the caller's token and the state of the table."""

    async def answer(request: Request) -> JSONResponse:
        differences = await asyncio.to_thread(table_admin(settings, sessions).differences)
        body, bearer = await request.json(), request.headers["authorization"]
        return JSONResponse({"request": body, "as": bearer, "tableExisted": TABLE_EXISTED, "differences": differences})

    return Starlette(routes=[Route("/graphql", answer, methods=["POST"])])


async def prepare_table(settings: Settings, sessions: SessionIssuer, on_progress: Callable[[str], None]) -> None:
    """Creates the table. If FAKE_APP_KILLS names a lock file, kills the engine of that lock first."""
    on_progress("creating the table")
    if lock := os.environ.get("FAKE_APP_KILLS"):
        kill_engine(Path(lock))
    TABLE_EXISTED.append(not table_admin(settings, sessions).create())


def table_admin(settings: Settings, sessions: SessionIssuer) -> TableAdmin:
    options = ConnectionOptions(region=settings.region, endpoint_url=settings.endpoint_url)
    return TableAdmin.connect(options, settings.table, {}, sessions.issue_service_session(PROVISIONER).credentials)


def kill_engine(lock: Path) -> None:
    os.kill(int(lock.read_text().split()[-1]), signal.SIGKILL)


def production_application() -> Starlette:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        print("serving", flush=True)
        yield

    return Starlette(routes=[Route("/healthz", lambda _: JSONResponse({}))], lifespan=lifespan)


def fake_startup_problems(settings: Settings) -> list[str]:
    return ["AWS credentials: there are none"] if settings.table == "unreachable" else []


if __name__ == "__main__":
    from keyfence.__main__ import main

    sys.modules.update(modules())
    main()
