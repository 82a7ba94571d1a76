"""A small account: a role `caller` that assumes others, and a role `target` that trusts it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from botocore.parsers import create_parser
from botocore.session import get_session

from keyfence_iam.deployment import Deployment
from keyfence_iam.gate import sts_api
from keyfence_iam.gate.account.account import Account, Role, role_id
from keyfence_iam.gate.account.session import Session, SessionIssuer
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse
from keyfence_iam.policy import Policy, Statement
from tests.iam.gate.manual_time import ManualTime

NOW = datetime(2026, 11, 16, 12, 0, 0, 250_000, tzinfo=UTC)
DEPLOYMENT = Deployment(role_prefix="")
ROOT = "arn:aws:iam::000000000000:root"
ASSUME_ACTIONS = ("sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity")
KEY = b"k" * 32
STS = get_session().get_service_model("sts")


def arn(role: str) -> str:
    return DEPLOYMENT.role_arn(role)


def allow(*actions: str, resources: tuple[str, ...] = ("*",)) -> Policy:
    return Policy(statements=(Statement(effect="Allow", actions=actions, resources=resources),))


def deny(*actions: str) -> Policy:
    return Policy(statements=(Statement(effect="Deny", actions=actions, resources=("*",)),))


def trust(*principals: str, actions: tuple[str, ...] = ASSUME_ACTIONS, **statement: Any) -> Policy:
    return Policy(statements=(Statement(effect="Allow", principals={"AWS": principals}, actions=actions, **statement),))


def role(name: str, trust_policy: Policy, *policies: Policy, **fields: Any) -> Role:
    return Role(
        name=name, arn=arn(name), id=role_id(arn(name)), trust=trust_policy, deployed_policies=policies, **fields
    )


def session_issuer(*roles: Role, clock: ManualTime | None = None, **account_fields: Any) -> SessionIssuer:
    account = Account(
        id=DEPLOYMENT.account,
        region=DEPLOYMENT.region,
        role_prefix=DEPLOYMENT.role_prefix,
        roles={role.name: role for role in roles},
        **account_fields,
    )
    return SessionIssuer(account, KEY, clock=clock or ManualTime(NOW))


def caller_role(*policies: Policy, **fields: Any) -> Role:
    return role("caller", trust(ROOT), *policies, **fields)


def target_role(*principals: str, **fields: Any) -> Role:
    """Returns a role that trusts these principals. Without principals, it trusts the caller role."""
    return role("target", trust(*(principals or (arn("caller"),))), allow("dynamodb:*"), **fields)


def sts_request(parameters: Mapping[str, str]) -> HttpRequest:
    body = urlencode({"Version": "2011-06-15", **parameters}).encode()
    return HttpRequest(method="POST", path=b"/", query=b"", headers=[], body=body, source_ip="192.0.2.7")


def assume_role(issuer: SessionIssuer, caller: Session, **parameters: str) -> HttpResponse:
    """Calls AssumeRole. In parameter names, two underscores stand for a dot: Tags__member__1__Key."""
    given_parameters = {name.replace("__", "."): value for name, value in parameters.items()}
    all_parameters = {
        "Action": "AssumeRole",
        "RoleArn": arn("target"),
        "RoleSessionName": "test-session",
        **given_parameters,
    }
    return sts_api.sts_response(sts_request(all_parameters), caller, issuer)


def tag_parameters(*pairs: tuple[str, str]) -> dict[str, str]:
    return {
        f"Tags__member__{number}__{part}": text
        for number, pair in enumerate(pairs, 1)
        for part, text in zip(("Key", "Value"), pair, strict=True)
    }


def parsed_response(answer: HttpResponse, operation: str = "AssumeRole") -> dict[str, Any]:
    """Parses the response with botocore."""
    shape = STS.operation_model(operation).output_shape
    assert shape is not None
    headers = {name.decode(): value.decode() for name, value in answer.headers}
    response = {"body": answer.body, "headers": headers, "status_code": answer.status}
    return dict(create_parser("query").parse(response, shape))


def error_of(answer: HttpResponse) -> tuple[int, str, str]:
    details = parsed_response(answer)["Error"]
    return answer.status, details["Code"], details["Message"]


def new_session(issuer: SessionIssuer, answer: HttpResponse) -> Session:
    """Returns the session of the credentials in a response."""
    assert answer.status == 200, answer.body
    credentials = parsed_response(answer)["Credentials"]
    return issuer.get(credentials["AccessKeyId"], credentials["SessionToken"])
