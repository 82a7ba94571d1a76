"""The STS operations over HTTP, with a boto3 client."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from keyfence_iam.credentials import Credentials
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate import assume_role, sts_api
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.account.session_token import utc_now
from keyfence_iam.gate.http.messages import HttpRequest
from keyfence_iam.gate.sigv4 import SignatureError, SignatureVerifier
from keyfence_iam.roles import ROLES
from tests.iam.gate.sts_api.sample_account import (
    KEY,
    caller_role,
    parsed_response,
    session_issuer,
    sts_request,
    target_role,
)

if TYPE_CHECKING:
    from mypy_boto3_sts import STSClient

SERVICE_SESSION_ARN = "arn:aws:sts::000000000000:assumed-role/keyfence-service-base/local"
READ_ROLE_ARN = "arn:aws:iam::000000000000:role/keyfence-tenant-read"

Client = Callable[[Credentials], "STSClient"]


@contextmanager
def serve_sts(sessions: SessionIssuer) -> Iterator[str]:
    verifier = SignatureVerifier(sessions, region="us-east-1")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = HttpRequest(
                method="POST",
                path=self.path.encode(),
                query=b"",
                headers=[(name.lower().encode(), value.encode()) for name, value in self.headers.items()],
                body=self.rfile.read(int(self.headers["content-length"])),
                source_ip="127.0.0.1",
            )
            try:
                answer = sts_api.sts_response(request, verifier.verify(request, "sts"), sessions)
            except SignatureError as error:
                answer = error.response("sts")
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name.decode(), value.decode())
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: Any) -> None:
            """Logs nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def issuer() -> SessionIssuer:
    return SessionIssuer(Account.from_definitions(ROLES, Deployment()), KEY)


@pytest.fixture
def client(issuer: SessionIssuer) -> Iterator[Client]:
    with serve_sts(issuer) as url:

        def make_client(credentials: Credentials) -> "STSClient":
            session = boto3.Session(
                credentials.access_key, credentials.secret_key, credentials.token, region_name="us-east-1"
            )
            return session.client("sts", endpoint_url=url, config=Config(retries={"total_max_attempts": 1}))

        yield make_client


def error_code(call: Callable[..., Any], **parameters: Any) -> tuple[str, int]:
    with pytest.raises(ClientError) as error:
        call(**parameters)
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_the_service_can_assume_a_tenant_role_for_one_tenant(issuer: SessionIssuer, client: Client) -> None:
    base = client(issuer.issue_service_session("service-base").credentials)
    answer = base.assume_role(RoleArn=READ_ROLE_ARN, RoleSessionName="api", Tags=[{"Key": "tenant", "Value": "acme"}])
    credentials = answer["Credentials"]
    tenant = client(
        Credentials(credentials["AccessKeyId"], credentials["SecretAccessKey"], credentials["SessionToken"])
    )
    identity = tenant.get_caller_identity()
    assert (
        identity["Arn"]
        == answer["AssumedRoleUser"]["Arn"]
        == SERVICE_SESSION_ARN.replace("service-base/local", "tenant-read/api")
    )
    assert identity["UserId"] == answer["AssumedRoleUser"]["AssumedRoleId"]
    assert identity["Account"] == "000000000000"
    assert timedelta(minutes=59) < credentials["Expiration"] - utc_now() <= timedelta(hours=1)
    assert issuer.get(credentials["AccessKeyId"], credentials["SessionToken"]).tags == {"tenant": "acme"}


@pytest.mark.parametrize(
    "tags",
    [
        [],
        [{"Key": "tenant", "Value": ""}],
        [{"Key": "other", "Value": "acme"}],
        [{"Key": "tenant", "Value": "acme"}, {"Key": "more", "Value": "x"}],
    ],
    ids=["none", "empty", "another", "one-more"],
)
def test_a_tenant_role_needs_exactly_the_tenant_tag(issuer: SessionIssuer, client: Client, tags: list[Any]) -> None:
    base = client(issuer.issue_service_session("service-base").credentials)
    assert error_code(base.assume_role, RoleArn=READ_ROLE_ARN, RoleSessionName="api", Tags=tags) == (
        "AccessDenied",
        403,
    )


def test_a_tenants_session_can_assume_no_role(issuer: SessionIssuer, client: Client) -> None:
    base = issuer.issue_service_session("service-base")
    request = assume_role.AssumeRoleRequest(role_arn=READ_ROLE_ARN, session_name="api", tags={"tenant": "acme"})
    tenant = client(assume_role.assume_role(request, base.session, issuer).credentials)
    globex = [{"Key": "tenant", "Value": "globex"}]
    for role in issuer.account.roles.values():
        assert error_code(tenant.assume_role, RoleArn=role.arn, RoleSessionName="api", Tags=globex)[0] == "AccessDenied"
        assert error_code(tenant.assume_role, RoleArn=role.arn, RoleSessionName="api")[0] == "AccessDenied"


def test_an_expired_session_gets_expired_token(issuer: SessionIssuer, client: Client) -> None:
    credentials = issuer.issue_service_session("service-base", seconds=-1).credentials
    assert error_code(client(credentials).get_caller_identity) == ("ExpiredToken", 403)


def test_an_unknown_session_gets_invalid_client_token_id(issuer: SessionIssuer, client: Client) -> None:
    valid = issuer.issue_service_session("service-base").credentials
    assert error_code(client(Credentials("AKIAIOSFODNN7EXAMPLE", "x")).get_caller_identity) == (
        "InvalidClientTokenId",
        403,
    )
    wrong = Credentials(valid.access_key, "x" * 40, valid.token)
    assert error_code(client(wrong).get_caller_identity) == ("SignatureDoesNotMatch", 403)


def test_get_session_token_and_get_federation_token_are_denied(issuer: SessionIssuer, client: Client) -> None:
    base = client(issuer.issue_service_session("service-base").credentials)
    assert error_code(base.get_session_token) == ("AccessDenied", 403)
    assert error_code(base.get_federation_token, Name="somebody") == ("AccessDenied", 403)


def test_other_operations_are_invalid_actions(issuer: SessionIssuer, client: Client) -> None:
    base = client(issuer.issue_service_session("service-base").credentials)
    assert error_code(base.decode_authorization_message, EncodedMessage="x") == ("InvalidAction", 400)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"Action": "NoSuchAction"}, "Could not find operation NoSuchAction for version 2011-06-15"),
        ({"Action": ""}, "Could not find operation  for version 2011-06-15"),
        (
            {"Action": "GetCallerIdentity", "Version": "2000-01-01"},
            "Could not find operation GetCallerIdentity for version 2000-01-01",
        ),
    ],
)
def test_an_unknown_action_or_version_is_named_in_the_error(parameters: dict[str, str], message: str) -> None:
    issuer = session_issuer(caller_role(), target_role())
    answer = sts_api.sts_response(sts_request(parameters), issuer.issue_service_session("caller").session, issuer)
    assert parsed_response(answer)["Error"] == {"Type": "Sender", "Code": "InvalidAction", "Message": message}


def test_the_first_of_a_repeated_parameter_is_used() -> None:
    issuer = session_issuer(caller_role(), target_role())
    request = sts_request({"Action": "GetCallerIdentity"})
    twice = HttpRequest(
        method="POST",
        path=b"/",
        query=b"",
        headers=[],
        body=request.body + b"&Action=NoSuchAction&Version=1",
        source_ip="127.0.0.1",
    )
    assert sts_api.sts_response(twice, issuer.issue_service_session("caller").session, issuer).status == 200
    assert sts_api.action_of(twice.body) == "GetCallerIdentity"


@pytest.mark.parametrize("body", [b"\xff\xfe", b"&".join(b"a%d=b" % number for number in range(1001))])
def test_a_body_that_is_not_a_form_is_malformed(body: bytes) -> None:
    issuer = session_issuer(caller_role(), target_role())
    request = HttpRequest(method="POST", path=b"/", query=b"", headers=[], body=body, source_ip="127.0.0.1")
    assert (
        parsed_response(sts_api.sts_response(request, issuer.issue_service_session("caller").session, issuer))["Error"][
            "Code"
        ]
        == "MalformedInput"
    )
    assert sts_api.action_of(body) == ""
