"""A table with indexes, and sample calls."""

from typing import Any

from keyfence_iam.authorization import ArnScope, TableSchema, authorizations_for
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue

SCOPE = ArnScope(account="000000000000", region="us-east-1")
TABLE_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/keyfence"
OTHER_TABLE_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/other"
STREAM_ARN = f"{TABLE_ARN}/stream/2026-01-01T00:00:00.000"
SCHEMAS = {
    "keyfence": TableSchema.with_keys("PK", {"GSI1": "GSI1PK", "LSI1": "PK", "TOWNS": ("country", "town")}),
    "other": TableSchema.with_keys("id", {}),
}
KEY = {"PK": {"S": "TENANT#acme#USER#1"}, "SK": {"S": "PROFILE"}}
OWN_KEY = "TENANT#acme#USER#1"


def string_value(text: str) -> dict[str, str]:
    """Returns a string as a DynamoDB attribute value."""
    return {"S": text}


def authorizations(operation: str, /, **parameters: Any) -> tuple[AuthorizationRequest, ...]:
    """Returns the authorization requests of a call."""
    return authorizations_for(operation, parameters, SCOPE, SCHEMAS)


def authorization(operation: str, /, **parameters: Any) -> AuthorizationRequest:
    """Returns the only authorization request of a call on the table `keyfence`."""
    (request,) = authorizations(operation, TableName="keyfence", **parameters)
    return request


def context_value(request: AuthorizationRequest, key: str) -> ContextValue | None:
    """Returns the value of a condition key of DynamoDB, or None if the request does not have it."""
    return request.context.get(f"dynamodb:{key}")


def leading_keys(request: AuthorizationRequest) -> ContextValue | None:
    """Returns the leading keys, after checking that both condition keys for them have the same value."""
    assert context_value(request, "LeadingKeys") == context_value(request, "FirstPartitionKeyValues")
    return context_value(request, "LeadingKeys")


def mentioned_attributes(request: AuthorizationRequest) -> set[str]:
    return set(context_value(request, "Attributes") or ())
