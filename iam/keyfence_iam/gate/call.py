"""One DynamoDB call on its way through the gate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfence_iam.authorization import TableSchema
from keyfence_iam.evaluator.request import AuthorizationRequest
from keyfence_iam.gate.account.session import Session
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse

LEADING_KEYS = "dynamodb:LeadingKeys"


@dataclass(slots=True, kw_only=True)
class DynamoDBCall:
    """What is known of it grows step by step."""

    request: HttpRequest
    operation: str
    session: Session
    parameters: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, TableSchema] = field(default_factory=dict)
    asked: tuple[AuthorizationRequest, ...] = ()
    missing: str | None = None
    """Which tables the engine does not have."""
    answer: HttpResponse | None = None
    answer_lost: bool = False

    @property
    def leading_keys(self) -> tuple[str, ...]:
        return tuple(key for asked in self.asked for key in asked.context.get(LEADING_KEYS, ()))
