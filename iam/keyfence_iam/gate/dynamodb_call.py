"""`DynamoDBCall`: a DynamoDB call and the results of the steps that the gate has taken for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfence_iam.authorization import TableSchema
from keyfence_iam.evaluator.request import AuthorizationRequest
from keyfence_iam.gate.account.session import Session
from keyfence_iam.gate.http.messages import HttpRequest, HttpResponse
from keyfence_iam.gate.table_arns import TableArns
from keyfence_iam.policy.actions import LEADING_KEYS


@dataclass(slots=True, kw_only=True)
class DynamoDBCall:
    """A DynamoDB call. The steps of `DynamoDBApi` set the fields that have a default."""

    request: HttpRequest
    operation: str
    session: Session
    parameters: Mapping[str, Any] = field(default_factory=dict)
    schemas: Mapping[str, TableSchema] = field(default_factory=dict)
    authorizations: tuple[AuthorizationRequest, ...] = ()
    missing_tables_message: str | None = None
    """A message that names the tables that the engine does not have. None if all tables exist."""
    table_arns: TableArns | None = None
    """The tables that the call named by their ARNs. None if it named no table by an ARN."""
    response: HttpResponse | None = None
    drop_response: bool = False
    """Whether the connection is closed instead of sending the response. An injected fault sets it."""

    @property
    def leading_keys(self) -> tuple[str, ...]:
        """The partition keys in the call, which policies compare as `dynamodb:LeadingKeys`."""
        return tuple(key for request in self.authorizations for key in request.context.get(LEADING_KEYS, ()))
