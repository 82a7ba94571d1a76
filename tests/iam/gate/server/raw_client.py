"""A client that writes raw requests, signed by botocore."""

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
from tests.iam.gate.server.scripted_engine import OK, ScriptedEngine, scripted, with_table

DEPLOYMENT = Deployment()
KEY = b"a gate's key is of 32 bytes, yes"
TABLE = {
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "GSI1PK")],
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {"IndexName": "GSI1", "KeySchema": [{"AttributeName": "GSI1PK", "KeyType": "HASH"}]},
    ],
}
GET = json.dumps({"TableName": "keyfence", "Key": {"PK": {"S": "TENANT#acme#A"}, "SK": {"S": "B"}}}).encode()

EVERYTHING = Policy(statements=(Statement(effect="Allow", actions=("*",), resources=("*",)),))


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. Status 0 means that the connection was closed without one."""

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
        return await exchange(self.gate.url, self.request(f"DynamoDB_20120810.{operation}", body, headers))

    def request(self, target: str, body: bytes, headers: dict[str, str] | None = None, path: str = "/") -> bytes:
        named = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        signed = self.signed(
            {"content-type": "application/x-amz-json-1.0", "x-amz-target": target, **named}, body, path
        )
        return raw(path, [*signed, ("content-length", str(len(body)))], body)

    def form(self, body: bytes) -> bytes:
        """Sends a request to STS."""
        signed = self.signed({"content-type": "application/x-www-form-urlencoded"}, body, service="sts")
        return raw("/", [*signed, ("content-length", str(len(body)))], body)

    def signed(
        self, headers: dict[str, str], body: bytes, path: str = "/", service: str = "dynamodb"
    ) -> list[tuple[str, str]]:
        request = AWSRequest("POST", self.gate.url + path, headers, body)
        given = ReadOnlyCredentials(self.credentials.access_key, self.credentials.secret_key, self.credentials.token)
        SigV4Auth(given, service, DEPLOYMENT.region).add_auth(request)
        return [("host", self.gate.url.removeprefix("http://")), *request.headers.items()]


def raw(path: str, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode() + body


async def exchange(url: str, request: bytes) -> Reply:
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        return await _reply(reader)
    finally:
        writer.close()


async def _reply(reader: asyncio.StreamReader) -> Reply:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionResetError):
        return Reply(0, b"", b"")
    if head.startswith(b"HTTP/1.1 100"):
        return await _reply(reader)
    length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length: "))
    return Reply(int(head[9:12]), head, await reader.readexactly(int(length[16:])))


def tenant(gate: Gate, name: str = "acme", role: str = "tenant-write") -> Caller:
    service = gate.sessions.issue_service_session("service-base").session
    request = AssumeRoleRequest(role_arn=DEPLOYMENT.role_arn(role), session_name=name, tags={"tenant": name})
    return Caller(gate, assume_role(request, service, gate.sessions).credentials)


def process(gate: Gate, role: str) -> Caller:
    return Caller(gate, gate.sessions.issue_service_session(role).credentials)


def unfenced(gate: Gate) -> Caller:
    """Returns a caller that may do everything, unlike any deployed role."""
    role = replace(gate.account.get_role("provisioner"), policies=(EVERYTHING,))
    gate.account = gate.account.with_role(role)
    return process(gate, "provisioner")


@asynccontextmanager
async def gate_before(
    description: dict[str, object] | None = TABLE, otherwise: bytes | None = OK, **options: Any
) -> AsyncIterator[tuple[Gate, ScriptedEngine]]:
    """Starts a gate before an engine that has this table."""
    async with scripted(with_table(description, otherwise)) as (engine, url):
        gate = Gate.start(engine_url=url, account=Account.from_definitions(ROLES, DEPLOYMENT), key=KEY, **options)
        try:
            yield gate, engine
        finally:
            await asyncio.to_thread(gate.stop)
