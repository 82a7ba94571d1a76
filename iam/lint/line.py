"""One line of a condition block, with its operator taken apart."""

import re
from dataclasses import dataclass

from iam.document import Condition
from iam.lint.vocabulary import LEADING

_OPERATOR = re.compile(r"(?:(ForAllValues|ForAnyValue):)?(\w+?)(IfExists)?")
VARIABLE = re.compile(r"\$\{([^}*?$][^},]*)(, '[^']*')?\}")
"""Policy variables; the escapes of `*`, `?` and `$` are none."""


@dataclass(frozen=True, slots=True)
class Line:
    """`ForAllValues:StringLikeIfExists` is the quantifier ForAllValues, the test StringLike, and lenient."""

    quantifier: str
    test: str
    lenient: bool
    key: str
    values: tuple[str, ...]

    @classmethod
    def of(cls, condition: Condition) -> "Line":
        taken = _OPERATOR.fullmatch(condition.operator)
        quantifier, test, lenient = taken.groups() if taken else ("", condition.operator, None)
        return cls(quantifier or "", test, bool(lenient), condition.key, condition.values)

    @property
    def negated(self) -> bool:
        return "Not" in self.test

    @property
    def leading(self) -> bool:
        return self.key.lower() in LEADING

    @property
    def variables(self) -> list[re.Match[str]]:
        return [found for value in self.values for found in VARIABLE.finditer(value)]

    def demands(self, key: str) -> bool:
        """Whether a request without this key does not pass."""
        if self.key.lower() != key.lower():
            return False
        if self.test == "Null":
            return self.values == ("false",)
        return self.quantifier != "ForAllValues" and not self.lenient and not self.negated

    def refuses(self, key: str) -> bool:
        """Whether a request that has this key does not pass."""
        return self.test == "Null" and self.key.lower() == key.lower() and self.values == ("true",)
