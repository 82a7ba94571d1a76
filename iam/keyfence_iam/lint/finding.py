"""What the linter looks for, and what it found."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A hole by its number and name, and how it is closed."""

    hole: str
    name: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A hole in a policy: where, what is wrong there, and the fix."""

    hole: str
    name: str
    place: str
    problem: str
    fix: str

    def as_json(self) -> dict[str, str]:
        return asdict(self)
