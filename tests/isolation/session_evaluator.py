"""Evaluates DynamoDB calls of a session with given policies and a tenant tag."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from keyfence.store.entity import INDEXES, key_names
from keyfence_iam.authorization import ArnScope, TableSchema, authorizations_for
from keyfence_iam.deployment import Deployment
from keyfence_iam.evaluator.decision import Allowed
from keyfence_iam.evaluator.evaluation_logic import Policies, evaluate
from keyfence_iam.evaluator.request import AuthorizationRequest
from keyfence_iam.policy import Policy
from keyfence_iam.roles import ROLES

DEPLOYMENT = Deployment()
KEYS = TableSchema.with_keys(
    key_names("table").partition, {index.upper(): key_names(index).partition for index in INDEXES}
)
SILOS = {tenant: DEPLOYMENT.silo_table(tenant) for tenant in ("a1", "a1-0", "a10", "zebra")}
"""Includes tenants whose ids start with the id of the first one."""
TABLE_KEYS = dict.fromkeys((DEPLOYMENT.table, *SILOS.values()), KEYS)


@dataclass(frozen=True, slots=True)
class SessionEvaluator:
    """A session with these policies and this tenant tag."""

    policies: Policies
    tenant: str | None

    @classmethod
    def of(cls, role: str, tenant: str | None) -> "SessionEvaluator":
        bounded = ROLES[role].boundary
        boundary = (bounded(DEPLOYMENT),) if bounded else None
        return cls(Policies(identity=(ROLES[role].identity(DEPLOYMENT),), boundary=boundary), tenant)

    def with_session_policy(self, session: Policy) -> "SessionEvaluator":
        return SessionEvaluator(replace(self.policies, session=(session,)), self.tenant)

    @classmethod
    def with_identity_policy(cls, identity: Policy, tenant: str | None) -> "SessionEvaluator":
        return cls(Policies(identity=(identity,)), tenant)

    def allows(self, operation: str, parameters: Mapping[str, Any]) -> bool:
        """Returns whether IAM allows every authorization that the call needs."""
        asked = authorizations_for(operation, parameters, ArnScope.of(DEPLOYMENT), TABLE_KEYS)
        assert asked, "a call that asks for nothing would be allowed by nobody"
        return all(isinstance(evaluate(self.policies, self._tagged(one)), Allowed) for one in asked)

    def _tagged(self, asked: AuthorizationRequest) -> AuthorizationRequest:
        tag = {} if self.tenant is None else {"aws:PrincipalTag/tenant": self.tenant}
        return AuthorizationRequest(asked.action, asked.resource, {**asked.context, **tag})
