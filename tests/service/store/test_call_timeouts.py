"""A call fails after the read timeout, which the settle time counts. Only a Scan may take longer."""

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from keyfence.store.dynamodb.client import ConnectionOptions, DynamoDbClient
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence_iam.credentials import Credentials

ANSWER_SECONDS = 0.4


class SlowHandler(BaseHTTPRequestHandler):
    """Answers every call with an empty object, after a while."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(ANSWER_SECONDS)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def client() -> Iterator[DynamoDbClient]:
    with ThreadingHTTPServer(("127.0.0.1", 0), SlowHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        client = DynamoDbClient(
            ConnectionOptions(
                region="us-east-1",
                endpoint_url=f"http://127.0.0.1:{server.server_port}",
                read_timeout_seconds=ANSWER_SECONDS / 4,
            )
        )
        yield client
        client.close()
        server.shutdown()


async def test_only_a_scan_may_take_longer_than_the_read_timeout(client: DynamoDbClient) -> None:
    credentials = Credentials("an access key", "a secret key", "a token")
    for operation in ("GetItem", "UpdateItem", "TransactWriteItems"):
        with pytest.raises(DynamoDbError, match="ReadTimeout"):
            await client.call(operation, {}, credentials)
    assert await client.call("Scan", {}, credentials) == {}
