"""`SessionEvaluator`: whether IAM allows a DynamoDB call to a session with these policies and this tenant tag."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from keyfence.store.entity import INDEXES, key_names
from keyfence_iam.authorization import ArnScope, TableSchema, authorizations_for
from keyfence_iam.deployment import Deployment
from keyfence_iam.evaluator.decision import Allowed
from keyfence_iam.evaluator.evaluation_logic import Policies, evaluate
from keyfence_iam.evaluator.request import AuthorizationRequest
from keyfence_iam.lint import lint
from keyfence_iam.policy import Policy
from keyfence_iam.roles import ROLES

DEPLOYMENT = Deployment()
KEYS = TableSchema.with_keys(
    key_names("table").partition, {index.upper(): key_names(index).partition for index in INDEXES}
)
SILOS = {tenant: DEPLOYMENT.silo_table(tenant) for tenant in ("a1", "a1-0", "a10", "zebra")}
"""The silo tables of four tenants. Two of the ids begin with the id of the first tenant."""
TABLE_KEYS = dict.fromkeys((DEPLOYMENT.table, *SILOS.values()), KEYS)


@dataclass(frozen=True, slots=True)
class SessionEvaluator:
    """A session with these policies and this tenant tag."""

    policies: Policies
    tenant: str | None

    @classmethod
    def of(cls, role: str, tenant: str | None) -> "SessionEvaluator":
        make_boundary = ROLES[role].boundary
        boundary = (make_boundary(DEPLOYMENT),) if make_boundary else None
        return cls(Policies(identity=(ROLES[role].identity(DEPLOYMENT),), boundary=boundary), tenant)

    def with_session_policy(self, session: Policy) -> "SessionEvaluator":
        return SessionEvaluator(replace(self.policies, session=(session,)), self.tenant)

    @classmethod
    def with_identity_policy(cls, identity: Policy, tenant: str | None) -> "SessionEvaluator":
        return cls(Policies(identity=(identity,)), tenant)

    def allows(self, operation: str, parameters: Mapping[str, Any]) -> bool:
        """Returns whether IAM allows every authorization that the call needs."""
        requests = authorizations_for(operation, parameters, ArnScope.of(DEPLOYMENT), TABLE_KEYS)
        assert requests, "a call without authorizations would always be allowed"
        return all(isinstance(evaluate(self.policies, self._tagged(request)), Allowed) for request in requests)

    def _tagged(self, request: AuthorizationRequest) -> AuthorizationRequest:
        tag = {} if self.tenant is None else {"aws:PrincipalTag/tenant": self.tenant}
        return AuthorizationRequest(request.action, request.resource, {**request.context, **tag})


def allows(policy: Policy, call: tuple[str, Mapping[str, Any]], tenant: str | None = "a1") -> bool:
    """Whether a role with only this policy may make the call for this tenant."""
    return SessionEvaluator.with_identity_policy(policy, tenant).allows(*call)


def our_roles_that_allow(call: tuple[str, Mapping[str, Any]], tenant: str | None = "a1") -> list[str]:
    """Returns the tenant roles of Keyfence whose sessions may make the call."""
    return [role for role in ("tenant-read", "tenant-write") if SessionEvaluator.of(role, tenant).allows(*call)]


def finding_names(policy: Policy) -> set[str]:
    """Returns the names of the linter's findings."""
    return {finding.name for finding in lint(policy)}
