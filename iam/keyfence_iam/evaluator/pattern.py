"""What a policy's text stands for in one request: its variables filled in, its wildcards ready to match."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from keyfence_iam.document.template import Atom, Template, Variable, Wildcard, template
from keyfence_iam.evaluator.glob import Glob, glob
from keyfence_iam.evaluator.question import Context

Matcher = Callable[[str], bool]
Comparand = Callable[[Context], Matcher | None]
"""A policy's value: what it matches in this context, or None if a variable in it has no value."""

Filled = list[str | Wildcard]
ARN_SEGMENTS = 6


def filled(atoms: Iterable[Atom], context: Context) -> Filled | None:
    """The template with its variables' values as plain text; a key of ArrayOf type has no value to put in."""
    made: Filled = []
    for atom in atoms:
        value = _value(atom, context) if isinstance(atom, Variable) else atom
        if value is None:
            return None
        made.append(value)
    return made


def _value(variable: Variable, context: Context) -> str | None:
    value = context.get(variable.key)
    return value if isinstance(value, str) else variable.default


def wild(text: str) -> Filled:
    """A text whose wildcards act and which has no variables."""
    return [atom for atom in template(text, variables=False) if not isinstance(atom, Variable)]


def comparand(atoms: Template, matcher: Callable[[Filled], Matcher]) -> Comparand:
    """A value without variables is made ready once."""
    if not any(isinstance(atom, Variable) for atom in atoms):
        ready = matcher([atom for atom in atoms if not isinstance(atom, Variable)])
        return lambda _: ready

    def in_context(context: Context) -> Matcher | None:
        made = filled(atoms, context)
        return None if made is None else matcher(made)

    return in_context


def written(atoms: Iterable[str | Wildcard]) -> str:
    """The template as one text again, a wildcard as its sign."""
    return "".join(atom if isinstance(atom, str) else atom.value for atom in atoms)


@dataclass(frozen=True, slots=True)
class ArnPattern:
    """Six patterns, one for each segment of an ARN: none reaches over a colon, but the last takes all that is left."""

    segments: tuple[Glob, ...]

    def matches(self, arn: str) -> bool:
        parts = arn.split(":", ARN_SEGMENTS - 1)
        if len(parts) != len(self.segments):
            return False
        return all(segment.matches(part) for segment, part in zip(self.segments, parts, strict=True))


def like(atoms: Filled) -> Matcher:
    pattern = glob(atoms)
    return pattern.matches if pattern.exact is None else pattern.exact.__eq__


def like_arn(segments: Sequence[Filled]) -> Matcher:
    """What has fewer than six segments is the pattern of no ARN."""
    if len(segments) < ARN_SEGMENTS:
        return _nothing
    *head, _ = patterns = tuple(glob(segment) for segment in segments)
    plain = [pattern.exact for pattern in head if pattern.exact is not None and ":" not in pattern.exact]
    if len(plain) < len(head):
        return ArnPattern(patterns).matches
    return _beginning_with("".join(f"{text}:" for text in plain), like(segments[-1]))


def _beginning_with(start: str, rest: Matcher) -> Matcher:
    """The same as an ArnPattern whose first five segments have no wildcards, at a third of the cost."""
    return lambda arn: arn.startswith(start) and rest(arn[len(start) :])


def _nothing(_: str) -> bool:
    return False
