"""Assertions that a call is allowed, or that it is denied with the error code, status and message of AWS."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

DENIAL_MESSAGE = re.compile(
    r"User: arn:aws[a-z-]*:sts::\d{12}:assumed-role/(?P<role>[\w-]+)/\S+ is not authorized to perform:"
    r" (?P<action>dynamodb:\w+) on resource: arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:\d{12}:table/\S+"
    r" (?:because no (?P<lacking>identity-based|session) policy allows the (?P=action) action"
    r"|(?P<explicit>with an explicit deny in an identity-based policy)).*"
)
ACTIONS_BY_OPERATION: Mapping[str, set[str]] = {
    **{name: {name} for name in ("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem")},
    "BatchWriteItem": {"BatchWriteItem"},
    "TransactGetItems": {"GetItem"},
    "TransactWriteItems": {"PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"},
    "Scan": {"Scan"},
    "ExecuteStatement": {"PartiQLSelect"},
}


def assert_allowed(client: "DynamoDBClient", operation: str, parameters: Mapping[str, Any]) -> None:
    answer = getattr(client, xform_name(operation))(**parameters)
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200


def assert_denied(client: "DynamoDBClient", operation: str, parameters: Mapping[str, Any]) -> re.Match[str]:
    """Fails unless the call fails with AccessDeniedException. Returns the parts of the error message."""
    with pytest.raises(ClientError) as denial:
        getattr(client, xform_name(operation))(**parameters)
    answer = denial.value.response
    assert answer["Error"]["Code"] == "AccessDeniedException"
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 400
    parts = DENIAL_MESSAGE.fullmatch(answer["Error"]["Message"])
    assert parts, answer["Error"]["Message"]
    assert parts["action"].removeprefix("dynamodb:") in ACTIONS_BY_OPERATION[operation]
    return parts
