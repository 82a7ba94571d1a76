"""A gate with a scripted engine, and clients that send raw HTTP requests, signed by botocore."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials

from keyfence_iam.credentials import Credentials
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.assume_role import AssumeRoleRequest, assume_role
from keyfence_iam.gate.gate import Gate
from keyfence_iam.policy import Policy, Statement
from keyfence_iam.roles import ROLES
from tests.iam.gate.server.scripted_engine import OK, ScriptedEngine, start_engine, table_responses

DEPLOYMENT = Deployment()
GATE_KEY = b"k" * 32
TABLE = {
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "GSI1PK")],
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {"IndexName": "GSI1", "KeySchema": [{"AttributeName": "GSI1PK", "KeyType": "HASH"}]},
    ],
}
GET_ITEM = json.dumps({"TableName": "keyfence", "Key": {"PK": {"S": "TENANT#acme#A"}, "SK": {"S": "B"}}}).encode()

EVERYTHING = Policy(statements=(Statement(effect="Allow", actions=("*",), resources=("*",)),))


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response. Status 0 means that the connection was closed without a response."""

    status: int
    head: bytes
    body: bytes

    @property
    def error(self) -> str:
        return str(self.content.get("__type", "")).rpartition("#")[2]

    @property
    def content(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Caller:
    """A client of a gate with these credentials."""

    gate: Gate
    credentials: Credentials

    async def call(self, operation: str, body: bytes, **headers: str) -> Reply:
        """Calls DynamoDB. In the names of headers, an underscore stands for a hyphen."""
        return await send_raw(self.gate.url, self.request(f"DynamoDB_20120810.{operation}", body, headers))

    def request(self, target: str, body: bytes, headers: dict[str, str] | None = None, path: str = "/") -> bytes:
        """Returns a signed request to DynamoDB."""
        extra_headers = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        signed = self.signed_headers(
            {"content-type": "application/x-amz-json-1.0", "x-amz-target": target, **extra_headers}, body, path
        )
        return raw_request(path, [*signed, ("content-length", str(len(body)))], body)

    def form_request(self, body: bytes) -> bytes:
        """Returns a signed request to STS."""
        signed = self.signed_headers({"content-type": "application/x-www-form-urlencoded"}, body, service="sts")
        return raw_request("/", [*signed, ("content-length", str(len(body)))], body)

    def signed_headers(
        self, headers: dict[str, str], body: bytes, path: str = "/", service: str = "dynamodb"
    ) -> list[tuple[str, str]]:
        request = AWSRequest("POST", self.gate.url + path, headers, body)
        credentials = ReadOnlyCredentials(
            self.credentials.access_key, self.credentials.secret_key, self.credentials.token
        )
        SigV4Auth(credentials, service, DEPLOYMENT.region).add_auth(request)
        return [("host", self.gate.url.removeprefix("http://")), *request.headers.items()]


def raw_request(path: str, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode() + body


async def send_raw(url: str, request: bytes) -> Reply:
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        return await _read_reply(reader)
    finally:
        writer.close()


async def _read_reply(reader: asyncio.StreamReader) -> Reply:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionResetError):
        return Reply(0, b"", b"")
    if head.startswith(b"HTTP/1.1 100"):
        return await _read_reply(reader)
    length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length: "))
    return Reply(int(head[9:12]), head, await reader.readexactly(int(length[16:])))


def tenant_caller(gate: Gate, name: str = "acme", role: str = "tenant-write") -> Caller:
    service_session = gate.session_issuer.issue_service_session("service-base").session
    request = AssumeRoleRequest(role_arn=DEPLOYMENT.role_arn(role), session_name=name, tags={"tenant": name})
    return Caller(gate, assume_role(request, service_session, gate.session_issuer).credentials)


def role_caller(gate: Gate, role: str) -> Caller:
    return Caller(gate, gate.session_issuer.issue_service_session(role).credentials)


def admin_caller(gate: Gate) -> Caller:
    """Returns a caller whose role is changed so that it may do everything."""
    role = replace(gate.account.get_role("provisioner"), deployed_policies=(EVERYTHING,))
    gate.account = gate.account.with_role(role)
    return role_caller(gate, "provisioner")


@asynccontextmanager
async def gate_with_engine(
    description: dict[str, object] | None = TABLE, other_response: bytes | None = OK, **options: Any
) -> AsyncIterator[tuple[Gate, ScriptedEngine]]:
    """Starts a gate with an engine that has this table. The engine answers all other calls with `other_response`."""
    async with start_engine(table_responses(description, other_response)) as (engine, url):
        gate = Gate.start(engine_url=url, account=Account.from_definitions(ROLES, DEPLOYMENT), key=GATE_KEY, **options)
        try:
            yield gate, engine
        finally:
            await asyncio.to_thread(gate.stop)
