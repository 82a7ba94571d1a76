"""The environment of `keyfence serve` on a stack: the gate is its AWS, and it has a session of its base role."""

import json
import secrets

from keyfence.local import gate_access
from keyfence_iam.roles.names import SERVICE_BASE
from tests.fakes.fences import INDEX_KEY
from tests.stack import ServiceStack

ISSUER, KID = "https://id.example.com", "key-1"


def production_environment(stack: ServiceStack) -> dict[str, str]:
    base = gate_access.role_session(stack.gate.session_issuer, SERVICE_BASE).credentials
    jwks = json.dumps(stack.issuer.jwks()).replace(stack.issuer.kid, KID)
    return {
        "AWS_ACCESS_KEY_ID": base.access_key,
        "AWS_SECRET_ACCESS_KEY": base.secret_key,
        "AWS_SESSION_TOKEN": str(base.token),
        "KEYFENCE_TABLE": stack.settings.table,
        "KEYFENCE_REGION": "us-east-1",
        "KEYFENCE_ENDPOINT_URL": stack.gate.url,
        "KEYFENCE_STS_ENDPOINT_URL": stack.gate.url,
        "KEYFENCE_ROLE_ARN_PREFIX": stack.gate.account.role_arn_prefix,
        "KEYFENCE_ISSUERS": json.dumps([{"issuer": ISSUER, "jwks": json.loads(jwks)}]),
        "KEYFENCE_CURSOR_KEYS": secrets.token_urlsafe(32),
        "KEYFENCE_INDEX_KEY": INDEX_KEY.removeprefix("dev-"),
        "KEYFENCE_READ_TIMEOUT_SECONDS": "60",
    }
