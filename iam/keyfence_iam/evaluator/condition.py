"""Conditions made ready: what each says of a request, with its key there, absent, or holding many values."""

from dataclasses import dataclass

from keyfence_iam.document import Condition
from keyfence_iam.document.operator import Operator, find_operator
from keyfence_iam.document.scalar import boolean
from keyfence_iam.evaluator.assumptions import ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS
from keyfence_iam.evaluator.authorisation import Value
from keyfence_iam.evaluator.comparison import comparands
from keyfence_iam.evaluator.pattern import Comparand, Matcher
from keyfence_iam.evaluator.question import Context


@dataclass(frozen=True, slots=True)
class Comparison:
    """Values of one key against one key of the request."""

    condition: Condition
    operator: Operator
    key: str
    comparands: tuple[Comparand, ...]

    def holds(self, context: Context) -> bool:
        value = context.get(self.key)
        return self._without_value() if value is None else self._with_value(value, self._matchers(context))

    def _without_value(self) -> bool:
        if self.operator.quantifier == "ForAllValues":
            return True
        if self.operator.quantifier == "ForAnyValue":
            return self.operator.if_exists and ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS
        return self.operator.if_exists or self.operator.negated

    def _with_value(self, value: Value, matchers: list[Matcher]) -> bool:
        """A bare operator matches no key of ArrayOf type; a quantifier takes a single value for a list of one."""
        if not self.operator.quantifier:
            return isinstance(value, str) and self._one(value, matchers)
        values = (value,) if isinstance(value, str) else value
        every = self.operator.quantifier == "ForAllValues"
        verdicts = (self._one(one, matchers) for one in values)
        return all(verdicts) if every else any(verdicts)

    def _one(self, value: str, matchers: list[Matcher]) -> bool:
        return any(matches(value) for matches in matchers) != self.operator.negated

    def _matchers(self, context: Context) -> list[Matcher]:
        """Of the policy's values, those whose variables all have a value: the others match nothing."""
        return [matcher for comparand in self.comparands if (matcher := comparand(context)) is not None]


@dataclass(frozen=True, slots=True)
class Presence:
    """Null: whether the key is absent, as wanted. A quantifier before it changes nothing."""

    condition: Condition
    key: str
    absent: frozenset[bool]

    def holds(self, context: Context) -> bool:
        return (self.key not in context) in self.absent


Clause = Comparison | Presence


def clause(condition: Condition, *, variables: bool) -> Clause:
    operator = find_operator(condition.operator)
    if operator is None:
        raise ValueError(f"{condition.operator!r} is not an operator")
    key = condition.key.lower()
    if operator.family == "null":
        return Presence(condition, key, frozenset(boolean(value) for value in condition.values))
    return Comparison(condition, operator, key, comparands(operator, condition.values, variables=variables))
