"""One statement as checks see it; `Finding`, `LintRule`, `TenantLayout`."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase

from keyfence_iam.lint.condition_keys import LEADING
from keyfence_iam.policy import Condition, DocumentKind, InvalidPolicy, Policy, Statement
from keyfence_iam.policy.operators import ConditionOperator, parse_operator


@dataclass(frozen=True, slots=True)
class LintRule:
    """A hole by its number and name, and how it is closed."""

    code: str
    name: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A hole in a policy: where, what is wrong there, and the fix."""

    code: str
    name: str
    location: str
    problem: str
    fix: str

    def as_json(self) -> dict[str, str]:
        return asdict(self)


VARIABLE = re.compile(r"\$\{([^}*?$][^},]*)(, '[^']*')?\}")
"""Policy variables; the escapes of `*`, `?` and `$` are none."""


@dataclass(frozen=True, slots=True)
class LintedCondition:
    """A condition and what its operator means."""

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
        """The key as it is compared: IAM does not tell capitals in keys."""
        return self.key.lower()

    @property
    def is_leading_keys(self) -> bool:
        return self.folded_key in LEADING

    @property
    def is_null_check(self) -> bool:
        return self.operator.type == "null"

    @property
    def variables(self) -> list[re.Match[str]]:
        return [found for value in self.values for found in VARIABLE.finditer(value)]

    def requires_key(self, key: str) -> bool:
        """Whether a request without this key does not pass."""
        if self.folded_key != key.lower():
            return False
        if self.is_null_check:
            return self._says("false")
        operator = self.operator
        return operator.quantifier != "ForAllValues" and not operator.if_exists and not operator.negated

    def forbids_key(self, key: str) -> bool:
        """Whether a request that has this key does not pass."""
        return self.is_null_check and self.folded_key == key.lower() and self._says("true")

    def _says(self, truth: str) -> bool:
        return [value.lower() for value in self.values] == [truth]


@dataclass(frozen=True, slots=True)
class LintedStatement:
    """One statement of a policy that is attached to a role (identity), says who may become it, or guards a table."""

    policy: Policy
    number: int
    kind: DocumentKind

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
        """Services whose condition keys are not ours to know, and whose actions stand in this statement."""
        named = {action.lower().partition(":")[0] for action in self.statement.actions}
        return frozenset(named - {"dynamodb", "sts", "dax"})

    def granted(self, actions: Iterable[str]) -> tuple[str, ...]:
        """Those of the actions that this statement allows where its conditions hold."""
        return tuple(action for action in actions if self.allows and _names(self.statement, action))

    def granted_in_policy(self, actions: Iterable[str]) -> bool:
        """Whether any statement of the policy allows one of them."""
        wanted = tuple(actions)
        others = (LintedStatement(self.policy, number, self.kind) for number in range(len(self.policy.statements)))
        return any(other.granted(wanted) for other in others)

    def requires_key(self, key: str) -> bool:
        return any(line.requires_key(key) for line in self.conditions)

    def forbids_key(self, key: str) -> bool:
        return any(line.forbids_key(key) for line in self.conditions)

    def finding(self, rule: LintRule, problem: str) -> Finding:
        return Finding(code=rule.code, name=rule.name, location=self.location, problem=problem, fix=rule.fix)

    def accepts(self, rule: LintRule) -> bool:
        """A Sid such as AcceptH1... exempts its statement, in the policy itself, where every reader sees it."""
        return rule.code in re.findall(r"Accept(H\d+)", self.statement.sid or "")


def document_kind(statements: Iterable[Statement]) -> DocumentKind:
    """What kind of policy this is, told by its principals and actions."""
    listed = tuple(statements)
    if not any(one.principals or one.not_principals for one in listed):
        return "identity"
    actions = [action for one in listed for action in (*one.actions, *one.not_actions)]
    return "trust" if all(action.lower().startswith("sts:") for action in actions) else "resource"


def _names(statement: Statement, action: str) -> bool:
    if statement.not_actions:
        return not _any_matches(statement.not_actions, action)
    return _any_matches(statement.actions, action)


def _any_matches(patterns: Iterable[str], action: str) -> bool:
    return any(fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns)
