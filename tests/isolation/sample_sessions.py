"""Sample DynamoDB calls, sample policies, and sessions that the STS of the gate issues."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from keyfence_iam.authorization import ArnScope, authorizations_for
from keyfence_iam.evaluator.decision import Allowed
from keyfence_iam.evaluator.evaluation_logic import evaluate
from keyfence_iam.evaluator.request import AuthorizationRequest
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import Session, SessionIssuer
from keyfence_iam.gate.assume_role import AssumeRoleRequest, assume_role
from keyfence_iam.policy import Policy, parse_policy
from keyfence_iam.roles import ROLES
from tests.isolation.session_evaluator import DEPLOYMENT, KEYS

Call = tuple[str, Mapping[str, Any]]
Json = dict[str, Any]

TABLE = DEPLOYMENT.table
LEADING_KEYS = "dynamodb:LeadingKeys"
OWN_PARTITIONS = "TENANT#${aws:PrincipalTag/tenant}#*"
ITEM_ACTIONS = [
    f"dynamodb:{name}"
    for name in ("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")
]
NOON = datetime(2026, 11, 5, 12, tzinfo=UTC)


def key(partition: str, sort: str = "PROFILE") -> Json:
    return {"PK": {"S": partition}, "SK": {"S": sort}}


def get(partition: str, **parameters: object) -> Call:
    return "GetItem", {"TableName": TABLE, "Key": key(partition), **parameters}


def put(partition: str, **attributes: str) -> Call:
    encoded = {name: {"S": value} for name, value in attributes.items()}
    return "PutItem", {"TableName": TABLE, "Item": {**key(partition), **encoded}}


def update(partition: str, **parameters: object) -> Call:
    values = {"UpdateExpression": "SET nickname = :v", "ExpressionAttributeValues": {":v": {"S": "x"}}}
    return "UpdateItem", {"TableName": TABLE, "Key": key(partition), **values, **parameters}


def batch_get(*partitions: str) -> Call:
    return "BatchGetItem", {"RequestItems": {TABLE: {"Keys": [key(partition) for partition in partitions]}}}


def condition_check(partition: str) -> Call:
    checked = {"TableName": TABLE, "Key": key(partition), "ConditionExpression": "attribute_exists(PK)"}
    return "TransactWriteItems", {"TransactItems": [{"ConditionCheck": checked}]}


def query(partition: str, index: str | None = None, **parameters: object) -> Call:
    name = {"IndexName": index} if index else {}
    condition = {
        "KeyConditionExpression": f"{index or ''}PK = :p",
        "ExpressionAttributeValues": {":p": {"S": partition}},
    }
    return "Query", {"TableName": TABLE, **name, **condition, **parameters}


SCAN: Call = ("Scan", {"TableName": TABLE})
DESCRIBE: Call = ("DescribeTable", {"TableName": TABLE})
DELETE_TABLE: Call = ("DeleteTable", {"TableName": TABLE})
PARTIQL_SCAN: Call = ("ExecuteStatement", {"Statement": f'SELECT * FROM "{TABLE}"'})


def allowing(
    actions: object = ITEM_ACTIONS,
    condition: Mapping[str, Any] | None = None,
    resource: object = DEPLOYMENT.table_arn,
    version: str = "2012-10-17",
) -> Policy:
    """Returns a policy with one Allow statement."""
    statement = {"Effect": "Allow", "Action": actions, "Resource": resource}
    conditioned = statement | ({"Condition": dict(condition)} if condition else {})
    return parse_policy({"Version": version, "Statement": [conditioned]})


def fenced(value: object = OWN_PARTITIONS, operator: str = "ForAllValues:StringLike", **options: Any) -> Policy:
    """Returns a policy that allows item calls under this condition on leading keys. It has no Null condition."""
    return allowing(condition={operator: {options.pop("condition_key", LEADING_KEYS): value}}, **options)


def session(
    role: str = "tenant-write",
    *,
    tags: Mapping[str, str],
    account: Account | None = None,
    caller_role: str = "service-base",
) -> Session:
    """Returns the session that STS issues to a session of `caller_role`. Raises QueryError if STS refuses."""
    sessions = SessionIssuer(account or Account.from_definitions(ROLES, DEPLOYMENT), b"k" * 32, clock=lambda: NOON)
    assumption = AssumeRoleRequest(role_arn=DEPLOYMENT.role_arn(role), session_name="tester", tags=tags)
    return assume_role(assumption, sessions.issue_service_session(caller_role).session, sessions).session


def authorization_requests(call: Call) -> Iterator[AuthorizationRequest]:
    operation, parameters = call
    yield from authorizations_for(operation, parameters, ArnScope.of(DEPLOYMENT), {TABLE: KEYS})


def reaches(caller: Session, call: Call) -> bool:
    """Returns whether the gate allows the session to make the call."""
    session_context = caller.context(NOON, source_ip="127.0.0.1", uses_tls=False, region=DEPLOYMENT.region)
    requests = [
        AuthorizationRequest(request.action, request.resource, {**session_context, **request.context})
        for request in authorization_requests(call)
    ]
    return all(isinstance(evaluate(caller.policies_for(), request, caller.principal), Allowed) for request in requests)
