"""A table with indexes, and sample calls."""

from typing import Any

from keyfence_iam.authorization import ArnScope, TableSchema, authorizations_for
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue

PLACE = ArnScope(account="000000000000", region="us-east-1")
TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/keyfence"
OTHER = "arn:aws:dynamodb:us-east-1:000000000000:table/other"
STREAM = f"{TABLE}/stream/2026-01-01T00:00:00.000"
KEYS = {
    "keyfence": TableSchema.with_keys("PK", {"GSI1": "GSI1PK", "LSI1": "PK", "TOWNS": ("country", "town")}),
    "other": TableSchema.with_keys("id", {}),
}
KEY = {"PK": {"S": "TENANT#acme#USER#1"}, "SK": {"S": "PROFILE"}}
OWN = "TENANT#acme#USER#1"


def s(text: str) -> dict[str, str]:
    return {"S": text}


def asked(operation: str, /, **parameters: Any) -> tuple[AuthorizationRequest, ...]:
    return authorizations_for(operation, parameters, PLACE, KEYS)


def one(operation: str, /, **parameters: Any) -> AuthorizationRequest:
    (only,) = asked(operation, TableName="keyfence", **parameters)
    return only


def of(asked: AuthorizationRequest, key: str) -> ContextValue | None:
    """A condition key's value, or None where it is absent."""
    return asked.context.get(f"dynamodb:{key}")


def leading(asked: AuthorizationRequest) -> ContextValue | None:
    """Both names of the leading keys say the same, or neither is there."""
    assert of(asked, "LeadingKeys") == of(asked, "FirstPartitionKeyValues")
    return of(asked, "LeadingKeys")


def attributes(asked: AuthorizationRequest) -> set[str]:
    return set(of(asked, "Attributes") or ())
