"""The event loops that the DynamoDB client is tested on, and clients for raw servers."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from keyfence.store.dynamodb.client import Answer, ConnectionOptions, DynamoDbClient
from keyfence_iam.credentials import Credentials

Connect = Callable[..., "RawClient"]


class RawClient(DynamoDbClient):
    """A client with short calls: `ask(1)` sends the parameters {"n": 1}."""

    async def ask(self, n: object, operation: str = "Query", **parameters: Any) -> Answer:
        return await self.call(operation, {"n": n, **parameters}, Credentials("AKIA", "secret", "token"))

    async def echo(self, n: object, operation: str = "Query") -> object:
        """Returns the number that a server of `raw_http_server.echo` received with this call."""
        answer = await self.ask(n, operation)
        return answer["Echo"]["n"]


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Returns a function that makes a client of a URL. The clients are closed after the test."""
    clients: list[RawClient] = []

    def connect_to(url: str, **options: Any) -> RawClient:
        clients.append(RawClient(ConnectionOptions(**{"region": "eu-west-1", "endpoint_url": url, **options})))
        return clients[-1]

    yield connect_to
    for client in clients:
        client.close()
