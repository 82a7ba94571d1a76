"""`DynamoDBCall`: one DynamoDB call on its way through the gate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfence_iam.authorization import TableSchema
from keyfence_iam.evaluator.request import AuthorizationRequest
from keyfence_iam.gate.account.session import Session
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse
from keyfence_iam.policy.actions import LEADING_KEYS


@dataclass(slots=True, kw_only=True)
class DynamoDBCall:
    """Each step of the gate fills in what it finds out."""

    request: HttpRequest
    operation: str
    session: Session
    parameters: Mapping[str, Any] = field(default_factory=dict)
    schemas: Mapping[str, TableSchema] = field(default_factory=dict)
    authorizations: tuple[AuthorizationRequest, ...] = ()
    missing_tables: str | None = None
    """A message with the tables that the engine does not have."""
    response: HttpResponse | None = None
    drop_response: bool = False

    @property
    def leading_keys(self) -> tuple[str, ...]:
        return tuple(key for request in self.authorizations for key in request.context.get(LEADING_KEYS, ()))
