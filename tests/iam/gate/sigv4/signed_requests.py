"""Requests signed by botocore at a time that the test chooses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from unittest.mock import patch
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials

from keyfence_iam.credentials import Credentials
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account, Role, role_id
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.http.messages import HttpRequest
from keyfence_iam.gate.sigv4 import SignatureError, SignatureVerifier
from keyfence_iam.policy import Policy, Statement
from tests.iam.gate.manual_time import ManualTime

NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
DEPLOYMENT = Deployment()
TRUST_EVERYBODY = Policy(statements=(Statement(effect="Allow", principals={"AWS": ("*",)}, actions=("sts:*",)),))
TARGET = {"X-Amz-Target": "DynamoDB_20120810.GetItem", "Content-Type": "application/x-amz-json-1.0"}


def account(*names: str) -> Account:
    roles = (
        Role(name=name, arn=DEPLOYMENT.role_arn(name), id=role_id(DEPLOYMENT.role_arn(name)), trust=TRUST_EVERYBODY)
        for name in names
    )
    return Account(
        id=DEPLOYMENT.account,
        region=DEPLOYMENT.region,
        role_prefix=DEPLOYMENT.role_prefix,
        roles={role.name: role for role in roles},
    )


def session_issuer(clock: ManualTime, key: bytes = b"k" * 32) -> SessionIssuer:
    return SessionIssuer(account("reader", "writer"), key, clock=clock)


def signed(
    credentials: Credentials,
    *,
    body: bytes = b'{"TableName":"keyfence"}',
    url: str = "http://127.0.0.1:8001/",
    headers: Mapping[str, str] = TARGET,
    service: str = "dynamodb",
    region: str = "us-east-1",
    signed_at: datetime = NOW,
) -> HttpRequest:
    parts = urlsplit(url)
    request = AWSRequest("POST", url, data=body, headers={"Host": parts.netloc, **headers})
    signer = SigV4Auth(
        BotoCredentials(credentials.access_key, credentials.secret_key, credentials.token), service, region
    )
    with patch("botocore.auth.get_current_datetime", return_value=signed_at):
        signer.add_auth(request)
    sent_headers = [(name.lower().encode(), value.encode()) for name, value in request.headers.items()]
    return received(sent_headers, body=body, path=parts.path.encode(), query=parts.query.encode())


def received(
    headers: Sequence[tuple[bytes, bytes]],
    *,
    method: str = "POST",
    body: bytes = b"",
    path: bytes = b"/",
    query: bytes = b"",
) -> HttpRequest:
    return HttpRequest(method=method, path=path, query=query, headers=list(headers), body=body, source_ip="127.0.0.1")


def signature_error(verifier: SignatureVerifier, request: HttpRequest, service: str = "dynamodb") -> tuple[str, str]:
    """Returns code and message of the error. Fails if the request is accepted."""
    try:
        verifier.verify(request, service)
    except SignatureError as error:
        return (error.code.dynamodb if service == "dynamodb" else error.code.query_protocol), error.message
    raise AssertionError("the request was accepted")


def with_header(request: HttpRequest, name: bytes, value: bytes) -> HttpRequest:
    return replace(request, headers=[(key, value if key == name else old) for key, old in request.headers])


def without_header(request: HttpRequest, name: bytes) -> HttpRequest:
    return replace(request, headers=[header for header in request.headers if header[0] != name])


def with_authorization(request: HttpRequest, change: Callable[[str], str]) -> HttpRequest:
    return with_header(request, b"authorization", change(dict(request.headers)[b"authorization"].decode()).encode())
