"""One line of a condition block, with its operator taken apart."""

import re
from dataclasses import dataclass

from keyfence_iam.document import BadPolicy, Condition
from keyfence_iam.document.operator import Operator, find_operator
from keyfence_iam.lint.condition_keys import LEADING

VARIABLE = re.compile(r"\$\{([^}*?$][^},]*)(, '[^']*')?\}")
"""Policy variables; the escapes of `*`, `?` and `$` are none."""


@dataclass(frozen=True, slots=True)
class Line:
    """A condition and what its operator means."""

    operator: Operator
    written: str
    key: str
    values: tuple[str, ...]

    @classmethod
    def of(cls, condition: Condition) -> "Line":
        operator = find_operator(condition.operator)
        if operator is None:
            raise BadPolicy(f"Condition.{condition.operator}: unknown operator")
        return cls(operator, condition.operator, condition.key, condition.values)

    @property
    def name(self) -> str:
        """The key as it is compared: IAM does not tell capitals in keys."""
        return self.key.lower()

    @property
    def leading(self) -> bool:
        return self.name in LEADING

    @property
    def only_presence(self) -> bool:
        return self.operator.family == "null"

    @property
    def variables(self) -> list[re.Match[str]]:
        return [found for value in self.values for found in VARIABLE.finditer(value)]

    def demands(self, key: str) -> bool:
        """Whether a request without this key does not pass."""
        if self.name != key.lower():
            return False
        if self.only_presence:
            return self._says("false")
        operator = self.operator
        return operator.quantifier != "ForAllValues" and not operator.if_exists and not operator.negated

    def refuses(self, key: str) -> bool:
        """Whether a request that has this key does not pass."""
        return self.only_presence and self.name == key.lower() and self._says("true")

    def _says(self, truth: str) -> bool:
        return [value.lower() for value in self.values] == [truth]
