"""The service passes all audits of the package graphql-http."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack import ApiClient, ServiceStack
from tests.system.api.audit.http_server import serve
from tests.system.api.audit.npm_packages import AUDIT_FOLDER, install


@pytest.fixture(scope="session")
def npm_packages() -> Path:
    return install()


@pytest.fixture
def endpoint(stack: ServiceStack, owner: ApiClient) -> Iterator[tuple[str, str]]:
    """The URL of the endpoint, and the Authorization header of a caller that may introspect."""
    token = stack.api_client(owner.tenant, scopes=("introspect",)).token
    with serve(stack.application) as address:
        yield f"{address}/graphql", f"Bearer {token}"


@pytest.mark.one_engine
async def test_every_audit_passes(endpoint: tuple[str, str], npm_packages: Path) -> None:
    script = shutil.copy(AUDIT_FOLDER / "audit.mjs", npm_packages)
    command = ["node", script, *endpoint]
    finished = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, timeout=120, check=False
    )
    assert finished.returncode == 0, finished.stderr
    results = json.loads(finished.stdout)
    failed = [
        f"{result['id']} {result['name']}: {result.get('reason')}" for result in results if result["status"] != "ok"
    ]
    assert not failed, "\n".join(failed)
    assert len(results) == 61
