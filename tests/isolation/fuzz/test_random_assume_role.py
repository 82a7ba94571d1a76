"""A tenant's session gets no other session by any AssumeRole request, and no AssumeRole request makes the gate fail."""

from random import Random

import pytest

from keyfence.local import gate_access
from keyfence_iam.roles import ROLES
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.iam.gate.server.raw_client import DEPLOYMENT, Caller, role_caller
from tests.isolation.fuzz.odd_values import ODD_TEXTS
from tests.isolation.fuzz.signed_request import outcome, send, sts_request
from tests.random_run import RandomRun
from tests.stack import ServiceStack

pytestmark = pytest.mark.one_engine

REQUESTS = tier.size(default=100, full=1_000)
Fields = list[tuple[str, str]]
USUAL_FIELDS: Fields = [
    ("Action", "AssumeRole"),
    ("Version", "2011-06-15"),
    ("RoleArn", DEPLOYMENT.role_arn("tenant-read")),
    ("RoleSessionName", "acme1"),
    ("Tags.member.1.Key", "tenant"),
    ("Tags.member.1.Value", "acme1"),
]
NAMES = (
    "Action", "Version", "RoleArn", "RoleSessionName", "DurationSeconds", "Policy", "ExternalId", "SourceIdentity",
    "Tags.member.1.Key", "Tags.member.1.Value", "Tags.member.2.Key", "Tags.member.2.Value", "tags.member.1.key", "Tags",
    "Tags.member.0.Key", "Tags.member.99999.Value", "TransitiveTagKeys.member.1", "PolicyArns.member.1.arn",
    "MinimumSessionTokenSize", "SerialNumber", "",
)  # fmt: skip
VALUES = (
    *ODD_TEXTS, "tenant", "Tenant", "acme", "acme1", "acme*", "900", "0", "-1", "43201", "9" * 30, "GetCallerIdentity",
    "GetFederationToken", "AssumeRoleWithWebIdentity", "2010-05-08", "{", "[]",
    '{"Version":"2012-10-17","Statement":[]}',
    "arn:aws:iam::aws:policy/AdministratorAccess", *(DEPLOYMENT.role_arn(role) for role in ROLES),
)  # fmt: skip
REFUSALS = {
    "AccessDenied", "ValidationError", "InvalidParameterValue", "MalformedInput", "MalformedPolicyDocument",
    "InvalidAction", "SignatureDoesNotMatch", "PackedPolicyTooLarge",
}  # fmt: skip


def random_fields(random: Random) -> Fields:
    """Returns the fields of a usual request with one to three changes: fields that are left out, added or replaced."""
    fields = list(USUAL_FIELDS)
    for _ in range(random.randint(1, 3)):
        position, change = random.randrange(len(fields)), random.randrange(3)
        if change == 0:
            fields[position] = (fields[position][0], random.choice(VALUES).encode(errors="replace").decode())
        elif change == 1:
            fields.insert(position, (random.choice(NAMES), random.choice(VALUES).encode(errors="replace").decode()))
        else:
            del fields[position]
    return fields


@pytest.mark.parametrize("name", ["tenant", "service"])
async def test_a_tenants_session_gets_no_session_by_a_random_request(stack: ServiceStack, name: str) -> None:
    """The service may assume roles. Its requests prove that some of them are valid."""
    run, issued = RandomRun.from_environment("FUZZ", REQUESTS), 0
    session = gate_access.tenant_session(stack.gate.session_issuer, TenantId("acme"), may_write=True)
    caller = Caller(stack.gate, session.credentials) if name == "tenant" else role_caller(stack.gate, "service-base")
    for case in range(run.examples):
        fields = random_fields(run.random_of(f"assume/{name}/{case}"))
        reply = await send(stack.gate.url, sts_request(caller, fields))
        issued += b"<SessionToken>" in reply.body
        assert reply.status == 200 or (reply.status < 500 and outcome(reply) in REFUSALS), (
            str(run),
            case,
            fields,
            reply,
        )
    assert issued == 0 if name == "tenant" else issued > run.examples / 20
