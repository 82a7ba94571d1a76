"""The gate refuses a signed request that was changed, or gives it the response of the unchanged request."""

import json
import re
from dataclasses import dataclass, replace
from typing import Any

import pytest

from keyfence.local import gate_access
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.iam.gate.server.raw_client import Caller, Reply
from tests.isolation.fuzz.signature_mutations import SignatureMutation, signature_mutations
from tests.isolation.fuzz.signed_request import (
    SignedRequest,
    dynamodb_request,
    outcome,
    send,
    signed_request,
    sts_request,
)
from tests.random_run import RandomRun
from tests.stack import ServiceStack

pytestmark = pytest.mark.one_engine

PAIRS = tier.size(default=60, full=800)
CANARY = "zq-neighbour"
REFUSALS = {
    "InvalidSignatureException", "IncompleteSignatureException", "UnrecognizedClientException", "SignatureDoesNotMatch",
    "MissingAuthenticationTokenException", "UnknownOperationException", "IncompleteSignature", "InvalidClientTokenId",
    "MissingAuthenticationToken", "SerializationException", "400 Invalid HTTP request received.",
    "431 The headers are too large.", "431 There are too many headers.", "505 HTTP Version Not Supported",
}  # fmt: skip
HARMLESS = {
    "start line b'POST /? HTTP/1.1'", "start line b'POST http://127.0.0.1/ HTTP/1.1'", "start line b'POST / HTTP/1.0'",
    "start line b'POST / HTTP/2.0'", "chunks", "chunks after a tab", "a second request in the body", "headers reversed",
    "added b'x-note': b'1'", "added b'date': b'now'", "added b'connection': b'close'", "added b'upgrade': b'h2c'",
    "added b'connection': b'x-amz-target'", "added b'x-http-method-override': b'GET'",
    "added b'x-forwarded-for': b'10.0.0.1'", "added b'expect': b'100-continue'", "added b'x-amzn-trace-id': b'Root=1'",
    "authorization: signed headers in upper case", "authorization: a wrong signature first", "authorization: no blanks",
    "authorization: many blanks",
    *(f"{name} in upper case" for name in ("host", "content-type", "x-amz-target", "x-amz-date", "authorization")),
    *(f"{name} with blanks around it" for name in ("host", "content-type", "x-amz-date", "authorization")),
    *(f"{name} in upper case" for name in ("x-amz-security-token", "content-length")),
    *(f"{name} with blanks around it" for name in ("x-amz-security-token", "content-length")),
}  # fmt: skip
"""Changes that SigV4 allows: it signs the meaning of the headers, and not every byte of the request."""
HARMLESS_FOR_STS = {"added b'content-encoding': b'gzip'"}


@dataclass(frozen=True, slots=True)
class SignatureFuzzer:
    """Sends changed requests of one tenant."""

    url: str
    request: SignedRequest
    mutations: list[SignatureMutation]

    async def problems(self, *mutations: SignatureMutation) -> list[str]:
        """Sends the request with these changes, and returns what is wrong with the response."""
        request, expected = self.request, _content(await send(self.url, self.request))
        for mutation in mutations:
            request = mutation.change(request)
        reply = await send(self.url, request)
        problems = [] if reply.status < 500 else [f"status {reply.status}"]
        if CANARY.encode() in reply.body:
            problems.append("shows an item of a neighbour")
        if reply.status == 200 and _content(reply) != expected:
            problems.append("has another response than the unchanged request")
        if reply.status != 200 and outcome(reply) not in REFUSALS:
            problems.append(f"is refused with {outcome(reply)}")
        return [f"{', '.join(map(str, mutations))}: {problem} in {reply.body[:300]!r}" for problem in problems]

    async def is_accepted(self, mutation: SignatureMutation) -> bool:
        return (await send(self.url, mutation.change(self.request))).status == 200


def _content(reply: Reply) -> Any:
    """Returns a response without the parts that differ in any two responses."""
    assert reply.status == 200
    if b"x-amz-json" in reply.head:
        return reply.content
    return re.sub(rb"<RequestId>[\w-]+</RequestId>", b"", reply.body)


def tenant_caller(stack: ServiceStack, tenant: str) -> Caller:
    session = gate_access.tenant_session(stack.gate.session_issuer, TenantId(tenant), may_write=True)
    return Caller(stack.gate, session.credentials)


def get_item(table: str, tenant: str) -> bytes:
    return json.dumps({"TableName": table, "Key": _key(tenant)}).encode()


def _key(tenant: str) -> dict[str, Any]:
    return {"PK": {"S": f"TENANT#{tenant}#USER#1"}, "SK": {"S": "PROFILE"}}


@pytest.fixture(params=["dynamodb", "sts"])
def fuzzer(request: pytest.FixtureRequest, stack: ServiceStack) -> SignatureFuzzer:
    table, engine = stack.settings.table, stack.engine_client()
    engine.put_item(TableName=table, Item={**_key("acme"), "note": {"S": "own"}})
    engine.put_item(TableName=table, Item={**_key("acme1"), "note": {"S": CANARY}})
    own, neighbour = tenant_caller(stack, "acme"), tenant_caller(stack, "acme1")
    signed = dynamodb_request(own, "DynamoDB_20120810.GetItem", get_item(table, "acme"))
    if request.param == "sts":
        signed = sts_request(own, [("Action", "GetCallerIdentity"), ("Version", "2011-06-15")])
    token = (neighbour.credentials.token or "").encode()
    return SignatureFuzzer(stack.gate.url, signed, list(signature_mutations(signed, get_item(table, "acme1"), token)))


async def test_a_target_that_was_added_after_the_signature_is_refused(stack: ServiceStack) -> None:
    """Anybody who can add the header to a signed request would choose the operation."""
    caller, body = tenant_caller(stack, "acme"), get_item(stack.settings.table, "acme")
    signed = signed_request(caller, {"Content-Type": "application/x-amz-json-1.0"}, body)
    added = signed.with_headers((b"X-Amz-Target", b"DynamoDB_20120810.GetItem"))
    assert outcome(await send(stack.gate.url, added)) == "InvalidSignatureException"


async def test_a_token_that_was_added_after_the_signature_is_refused(stack: ServiceStack) -> None:
    caller, body = tenant_caller(stack, "acme"), get_item(stack.settings.table, "acme")
    without_token = Caller(stack.gate, replace(caller.credentials, token=None))
    signed = dynamodb_request(without_token, "DynamoDB_20120810.GetItem", body)
    added = signed.with_headers((b"X-Amz-Security-Token", (caller.credentials.token or "").encode()))
    assert outcome(await send(stack.gate.url, added)) == "InvalidSignatureException"


async def test_exactly_the_harmless_changes_of_a_request_are_accepted(fuzzer: SignatureFuzzer) -> None:
    assert [problem for mutation in fuzzer.mutations for problem in await fuzzer.problems(mutation)] == []
    accepted = {mutation.name for mutation in fuzzer.mutations if await fuzzer.is_accepted(mutation)}
    possible = {mutation.name for mutation in fuzzer.mutations}
    is_sts = "x-amz-target missing" not in possible
    assert accepted == (HARMLESS | (HARMLESS_FOR_STS if is_sts else set())) & possible


async def test_two_changes_together_are_refused_or_harmless(fuzzer: SignatureFuzzer) -> None:
    run = RandomRun.from_environment("FUZZ", PAIRS)
    fixed_length = [mutation for mutation in fuzzer.mutations if not mutation.changes_length]
    for case in range(run.examples):
        random = run.random_of(f"signature/{case}")
        pair = random.choice(fuzzer.mutations), random.choice(fixed_length)
        assert await fuzzer.problems(*pair) == [], f"{run} case signature/{case}"
