"""GraphQL over HTTP, as graphql-http's audits see it."""

import json
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.api.audit.served import served
from tests.api.audit.toolbox import HERE, toolbox
from tests.unit.http.shop import TOKEN, shop

pytestmark = pytest.mark.npm


@pytest.fixture
def endpoint() -> Iterator[tuple[str, str]]:
    """The address of the endpoint under audit, and the Authorization header of a caller who may introspect."""
    with served(shop()) as address:
        yield f"{address}/graphql", TOKEN


def test_every_audit_passes(endpoint: tuple[str, str]) -> None:
    script = shutil.copy(HERE / "audit.mjs", toolbox())
    done = subprocess.run(["node", script, *endpoint], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    failed = [
        f"{result['id']} {result['name']}: {result.get('reason')}" for result in results if result["status"] != "ok"
    ]
    assert not failed, "\n".join(failed)
    assert len(results) == 61
