"""One statement as the checks see it; rules and findings."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from keyfence_iam.evaluator.statement_matching import action_matcher
from keyfence_iam.lint.known_condition_keys import LEADING
from keyfence_iam.lint.tenant_layout import TenantLayout
from keyfence_iam.policy import Condition, DocumentKind, InvalidPolicy, Policy, Statement
from keyfence_iam.policy.condition_operators import ConditionOperator, parse_operator
from keyfence_iam.policy.pattern import find_variables


@dataclass(frozen=True, slots=True)
class LintRule:
    """A weakness by its code and name, and how to remove it. `fix` may have placeholders of TenantLayout.describe."""

    code: str
    name: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A weakness of a policy: where it is, what is wrong, and the fix."""

    code: str
    name: str
    location: str
    problem: str
    fix: str

    @classmethod
    def of(cls, rule: LintRule, layout: TenantLayout, location: str, problem: str) -> "Finding":
        return cls(code=rule.code, name=rule.name, location=location, problem=problem, fix=layout.describe(rule.fix))

    def as_json(self) -> dict[str, str]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LintedCondition:
    """A condition with its parsed operator."""

    operator: ConditionOperator
    operator_name: str
    key: str
    values: tuple[str, ...]

    @classmethod
    def of(cls, condition: Condition) -> "LintedCondition":
        operator = parse_operator(condition.operator)
        if operator is None:
            raise InvalidPolicy(f"Condition.{condition.operator}: unknown operator")
        return cls(operator, condition.operator, condition.key, condition.values)

    @property
    def folded_key(self) -> str:
        """The key in lower case: IAM ignores the case of condition keys."""
        return self.key.lower()

    @property
    def is_leading_keys(self) -> bool:
        return self.folded_key in LEADING

    @property
    def is_null_check(self) -> bool:
        return self.operator.type == "null"

    @property
    def variables(self) -> list[re.Match[str]]:
        return [variable for value in self.values for variable in find_variables(value)]

    def requires_key(self, key: str) -> bool:
        """Returns whether a request without this key fails the condition."""
        if self.folded_key != key.lower():
            return False
        if self.is_null_check:
            return self._has_only("false")
        operator = self.operator
        return operator.quantifier != "ForAllValues" and not operator.if_exists and not operator.negated

    def forbids_key(self, key: str) -> bool:
        """Returns whether a request with this key fails the condition."""
        return self.folded_key == key.lower() and self.is_null_check and self._has_only("true")

    def _has_only(self, value: str) -> bool:
        return [one.lower() for one in self.values] == [value]


@dataclass(frozen=True, slots=True)
class LintedStatement:
    """One statement of a policy, with the kind of the policy and the layout of the tenants."""

    policy: Policy
    number: int
    kind: DocumentKind
    layout: TenantLayout

    @property
    def statement(self) -> Statement:
        return self.policy.statements[self.number]

    @property
    def location(self) -> str:
        sid = f" ({self.statement.sid})" if self.statement.sid else ""
        return f"Statement[{self.number}]{sid}"

    @property
    def allows(self) -> bool:
        return self.statement.effect == "Allow"

    @property
    def conditions(self) -> tuple[LintedCondition, ...]:
        return tuple(LintedCondition.of(condition) for condition in self.statement.conditions)

    @property
    def other_services(self) -> frozenset[str]:
        """The services of the statement's actions whose condition keys the linter does not know."""
        services = {action.lower().partition(":")[0] for action in self.statement.actions}
        return frozenset(services - {"dynamodb", "sts", "dax"})

    def granted(self, actions: Iterable[str]) -> tuple[str, ...]:
        """Returns those of the actions that this statement allows, if its conditions hold."""
        if not self.allows:
            return ()
        matches = action_matcher(self.statement)
        return tuple(action for action in actions if matches(action.lower()))

    def granted_in_policy(self, actions: Iterable[str]) -> bool:
        """Returns whether any statement of the policy allows one of the actions."""
        searched = tuple(actions)
        return any(
            LintedStatement(self.policy, number, self.kind, self.layout).granted(searched)
            for number in range(len(self.policy.statements))
        )

    def requires_key(self, key: str) -> bool:
        return any(condition.requires_key(key) for condition in self.conditions)

    def forbids_key(self, key: str) -> bool:
        return any(condition.forbids_key(key) for condition in self.conditions)

    def finding(self, rule: LintRule, problem: str) -> Finding:
        return Finding.of(rule, self.layout, self.location, problem)

    def accepts(self, rule: LintRule) -> bool:
        """Returns whether the Sid exempts the statement from a rule: a Sid with `AcceptH1` exempts it from H1.

        The exemption is part of the policy, where every reader sees it.
        """
        return rule.code in re.findall(r"Accept(H\d+)", self.statement.sid or "")
