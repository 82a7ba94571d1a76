"""How many nodes something can return, as an expression of the operation's variables."""

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Size:
    """How many items a list has: a number, or a variable and the number that stands for its absence."""

    number: int
    variable: str | None = None

    def of(self, variables: Mapping[str, object]) -> int:
        value = variables.get(self.variable) if self.variable else None
        return max(0, value if isinstance(value, int) else self.number)


@dataclass(frozen=True, slots=True)
class Term:
    """`times` the variable's value times `price`."""

    times: int
    size: Size
    price: "Price"

    def of(self, variables: Mapping[str, object]) -> int:
        return self.times * self.size.of(variables) * self.price.of(variables)


@dataclass(frozen=True, slots=True)
class Price:
    """A fixed part and parts that variables multiply; where no page size is a variable, all of it is fixed."""

    fixed: int = 0
    terms: tuple[Term, ...] = ()

    def __add__(self, other: "Price") -> "Price":
        return Price(self.fixed + other.fixed, self.terms + other.terms)

    def times(self, size: Size) -> "Price":
        if size.variable:
            return Price(0, (Term(1, size, self),))
        number = size.of({})
        return Price(self.fixed * number, tuple(replace(term, times=term.times * number) for term in self.terms))

    def of(self, variables: Mapping[str, object]) -> int:
        return self.fixed + sum(term.of(variables) for term in self.terms)
