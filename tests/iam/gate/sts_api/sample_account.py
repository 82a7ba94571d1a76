"""A small account: a role `porter` that assumes others, and roles that trust it in different ways."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
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

NOW = datetime(2026, 11, 16, 12, 0, 0, 250_000, tzinfo=UTC)
DEPLOYMENT = Deployment(role_prefix="")
ROOT = "arn:aws:iam::000000000000:root"
EVERYTHING = ("sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity")
KEY = b"k" * 32
STS = get_session().get_service_model("sts")


class Times:
    """A clock that moves only when a test moves it."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def arn(role: str) -> str:
    return DEPLOYMENT.role_arn(role)


def allow(*actions: str, resources: tuple[str, ...] = ("*",)) -> Policy:
    return Policy(statements=(Statement(effect="Allow", actions=actions, resources=resources),))


def deny(*actions: str) -> Policy:
    return Policy(statements=(Statement(effect="Deny", actions=actions, resources=("*",)),))


def trust(*names: str, actions: tuple[str, ...] = EVERYTHING, **statement: Any) -> Policy:
    return Policy(statements=(Statement(effect="Allow", principals={"AWS": names}, actions=actions, **statement),))


def role(name: str, trusted: Policy, *policies: Policy, **more: Any) -> Role:
    return Role(name=name, arn=arn(name), id=role_id(arn(name)), trust=trusted, policies=policies, **more)


def sessions(*roles: Role, clock: Times | None = None, **more: Any) -> SessionIssuer:
    account = Account(
        id=DEPLOYMENT.account,
        region=DEPLOYMENT.region,
        role_prefix=DEPLOYMENT.role_prefix,
        roles={one.name: one for one in roles},
        **more,
    )
    return SessionIssuer(account, KEY, clock=clock or Times())


def porter(*policies: Policy, **more: Any) -> Role:
    return role("porter", trust(ROOT), *policies, **more)


def room(*names: str, **more: Any) -> Role:
    return role("room", trust(*(names or (arn("porter"),))), allow("dynamodb:*"), **more)


def asking(parameters: Mapping[str, str]) -> HttpRequest:
    body = urlencode({"Version": "2011-06-15", **parameters}).encode()
    return HttpRequest(method="POST", path=b"/", query=b"", headers=[], body=body, source_ip="192.0.2.7")


def assume_role(sessions: SessionIssuer, caller: Session, **parameters: str) -> HttpResponse:
    """Sends a request. In parameter names two underscores stand for a dot: Tags__member__1__Key."""
    named = {name.replace("__", "."): value for name, value in parameters.items()}
    asked = {"Action": "AssumeRole", "RoleArn": arn("room"), "RoleSessionName": "night", **named}
    return sts_api.sts_response(asking(asked), caller, sessions)


def tagged(*pairs: tuple[str, str]) -> dict[str, str]:
    return {
        f"Tags__member__{number}__{part}": text
        for number, pair in enumerate(pairs, 1)
        for part, text in zip(("Key", "Value"), pair, strict=True)
    }


def parsed(answer: HttpResponse, operation: str = "AssumeRole") -> dict[str, Any]:
    """Parses the response with botocore."""
    shape = STS.operation_model(operation).output_shape
    assert shape is not None
    headers = {name.decode(): value.decode() for name, value in answer.headers}
    response = {"body": answer.body, "headers": headers, "status_code": answer.status}
    return dict(create_parser("query").parse(response, shape))


def error(answer: HttpResponse) -> tuple[int, str, str]:
    details = parsed(answer)["Error"]
    return answer.status, details["Code"], details["Message"]


def new_session(sessions: SessionIssuer, answer: HttpResponse) -> Session:
    """Returns the session of the credentials in a response."""
    assert answer.status == 200, answer.body
    credentials = parsed(answer)["Credentials"]
    return sessions.get(credentials["AccessKeyId"], credentials["SessionToken"])
