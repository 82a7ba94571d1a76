"""Wildcard patterns, matched in one pass from left to right: no pattern makes a long text slow."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from keyfence_iam.document.template import Wildcard


@dataclass(frozen=True, slots=True)
class Exact:
    """A run of characters that stand for themselves."""

    text: str
    width: int

    def stands_at(self, text: str, position: int) -> bool:
        return text.startswith(self.text, position)

    def end_after(self, text: str, position: int, end: int) -> int:
        """Where its first occurrence ends, or -1."""
        found = text.find(self.text, position, end)
        return found if found < 0 else found + self.width


@dataclass(frozen=True, slots=True)
class Gapped:
    """A run with characters that may be any one."""

    expression: re.Pattern[str]
    width: int

    def stands_at(self, text: str, position: int) -> bool:
        return self.expression.match(text, position) is not None

    def end_after(self, text: str, position: int, end: int) -> int:
        found = self.expression.search(text, position, end)
        return -1 if found is None else found.end()


Run = Exact | Gapped


@dataclass(frozen=True, slots=True)
class Glob:
    """Runs with anything, or nothing, between them."""

    first: Run
    between: tuple[Run, ...] = ()
    last: Run | None = None

    @property
    def exact(self) -> str | None:
        """The one text that it matches, if there is but one."""
        return self.first.text if self.last is None and isinstance(self.first, Exact) else None

    def matches(self, text: str) -> bool:
        """The leftmost place of each run leaves most room for the next, so nothing is tried twice."""
        position, last = self.first.width, self.last
        if last is None:
            return len(text) == position and self.first.stands_at(text, 0)
        end = len(text) - last.width
        if position > end or not self.first.stands_at(text, 0) or not last.stands_at(text, end):
            return False
        for run in self.between:
            position = run.end_after(text, position, end)
            if position < 0:
                return False
        return True


def glob(atoms: Iterable[str | Wildcard]) -> Glob:
    runs: list[list[str | Wildcard]] = [[]]
    for atom in atoms:
        if atom is Wildcard.RUN:
            runs.append([])
        else:
            runs[-1].append(atom)
    first, *rest = (_run(run) for run in runs)
    return Glob(first, tuple(rest[:-1]), rest[-1]) if rest else Glob(first)


def _run(atoms: list[str | Wildcard]) -> Run:
    plain = [atom for atom in atoms if isinstance(atom, str)]
    if len(plain) == len(atoms):
        text = "".join(plain)
        return Exact(text, len(text))
    expression = "".join(re.escape(atom) if isinstance(atom, str) else "." for atom in atoms)
    return Gapped(re.compile(expression, re.DOTALL), sum(len(atom) if isinstance(atom, str) else 1 for atom in atoms))
