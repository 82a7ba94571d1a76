"""`LintedStatement` and `LintedCondition`: a statement and its conditions, with the properties that the checks need."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from keyfence_iam.evaluator.statement_matching import action_matcher
from keyfence_iam.lint.findings import Finding, LintRule
from keyfence_iam.lint.known_condition_keys import LEADING_KEY_NAMES
from keyfence_iam.lint.tenant_layout import TenantLayout
from keyfence_iam.policy import Condition, DocumentKind, InvalidPolicy, Policy, Statement
from keyfence_iam.policy.condition_operators import ConditionOperator, parse_operator
from keyfence_iam.policy.pattern import find_variables


@dataclass(frozen=True, slots=True)
class LintedCondition:
    """A condition of a statement, with its parsed operator."""

    operator: ConditionOperator
    operator_name: str
    key: str
    values: tuple[str, ...]

    @classmethod
    def of(cls, condition: Condition) -> "LintedCondition":
        """Parses the operator of the condition. Raises InvalidPolicy if IAM has no such operator."""
        operator = parse_operator(condition.operator)
        if operator is None:
            raise InvalidPolicy(f"Condition.{condition.operator}: unknown operator")
        return cls(operator, condition.operator, condition.key, condition.values)

    @property
    def lowercase_key(self) -> str:
        """The condition key in lower case, since IAM ignores the case of condition keys."""
        return self.key.lower()

    @property
    def is_leading_keys(self) -> bool:
        """Whether the condition compares the partition keys of the request."""
        return self.lowercase_key in LEADING_KEY_NAMES

    @property
    def is_null_check(self) -> bool:
        return self.operator.type == "null"

    @property
    def variables(self) -> list[re.Match[str]]:
        """The policy variables in the values, as matches of `find_variables`."""
        return [variable for value in self.values for variable in find_variables(value)]

    def requires_key(self, key: str) -> bool:
        """Returns whether a request without this key fails the condition."""
        if self.lowercase_key != key.lower():
            return False
        if self.is_null_check:
            return self._has_only("false")
        operator = self.operator
        return operator.quantifier != "ForAllValues" and not operator.if_exists and not operator.is_negated

    def forbids_key(self, key: str) -> bool:
        """Returns whether a request with this key fails the condition."""
        return self.lowercase_key == key.lower() and self.is_null_check and self._has_only("true")

    def _has_only(self, value: str) -> bool:
        return [text.lower() for text in self.values] == [value]


@dataclass(frozen=True, slots=True)
class LintedStatement:
    """One statement, with the policy that contains it, the kind of this policy, and the layout of tenants."""

    policy: Policy
    position: int
    """The position of the statement in the policy, from 0."""
    policy_kind: DocumentKind
    layout: TenantLayout

    @property
    def statement(self) -> Statement:
        return self.policy.statements[self.position]

    @property
    def location(self) -> str:
        sid = f" ({self.statement.sid})" if self.statement.sid else ""
        return f"Statement[{self.position}]{sid}"

    @property
    def is_allow(self) -> bool:
        return self.statement.effect == "Allow"

    @property
    def conditions(self) -> tuple[LintedCondition, ...]:
        return tuple(LintedCondition.of(condition) for condition in self.statement.conditions)

    @property
    def services_with_unknown_keys(self) -> frozenset[str]:
        """The services of the statement's actions whose condition keys the linter does not know."""
        services = {action.lower().partition(":")[0] for action in self.statement.actions}
        return frozenset(services - {"dynamodb", "sts", "dax"})

    def allowed_actions(self, actions: Iterable[str]) -> tuple[str, ...]:
        """Returns which of the actions this statement allows, if its conditions hold."""
        if not self.is_allow:
            return ()
        matches = action_matcher(self.statement)
        return tuple(action for action in actions if matches(action.lower()))

    def policy_allows_any(self, actions: tuple[str, ...]) -> bool:
        """Returns whether a statement of the whole policy allows one of the actions."""
        return any(
            LintedStatement(self.policy, position, self.policy_kind, self.layout).allowed_actions(actions)
            for position in range(len(self.policy.statements))
        )

    def requires_key(self, key: str) -> bool:
        """Returns whether a request without this condition key fails one of the conditions."""
        return any(condition.requires_key(key) for condition in self.conditions)

    def forbids_key(self, key: str) -> bool:
        """Returns whether a request with this condition key fails one of the conditions."""
        return any(condition.forbids_key(key) for condition in self.conditions)

    def finding(self, rule: LintRule, problem: str) -> Finding:
        return Finding.of(rule, self.layout, self.location, problem)

    def is_exempt_from(self, rule: LintRule) -> bool:
        """Returns whether the Sid exempts the statement from a rule: a Sid with `AcceptH1` exempts it from H1.

        The exemption is in the policy and not in a file of its own, so that every reader of the policy sees it.
        """
        return rule.code in re.findall(r"Accept(H\d+)", self.statement.sid or "")
