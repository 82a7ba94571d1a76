"""How each family of operators compares: a policy's value on one side, a request's on the other."""

import operator as relations
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from keyfence_iam.document import scalar
from keyfence_iam.document.operator import Family, Operator, Relation
from keyfence_iam.document.template import Atom, Template, Variable, template
from keyfence_iam.evaluator.pattern import (
    ARN_SEGMENTS,
    Comparand,
    Filled,
    Matcher,
    comparand,
    filled,
    like,
    like_arn,
    written,
)
from keyfence_iam.evaluator.question import Context

RELATIONS: Mapping[Relation, Callable[[Any, Any], bool]] = {
    "equal": relations.eq,
    "less": relations.lt,
    "at most": relations.le,
    "more": relations.gt,
    "at least": relations.ge,
}


def comparands(operator: Operator, values: tuple[str, ...], *, variables: bool) -> tuple[Comparand, ...]:
    make = _MAKERS[operator.family]
    return tuple(make(value, operator, variables and operator.takes_variables) for value in values)


def _text(value: str, _: Operator, variables: bool) -> Comparand:
    return comparand(template(value, variables=variables, wildcards=False), lambda atoms: written(atoms).__eq__)


def _folded(value: str, _: Operator, variables: bool) -> Comparand:
    return comparand(template(value, variables=variables, wildcards=False), _ignoring_case)


def _ignoring_case(atoms: Filled) -> Matcher:
    wanted = written(atoms).lower()
    return lambda found: found.lower() == wanted


def _like(value: str, _: Operator, variables: bool) -> Comparand:
    return comparand(template(value, variables=variables), like)


def _arn(value: str, _: Operator, variables: bool) -> Comparand:
    segments = _segments(template(value, variables=variables))
    if not any(isinstance(atom, Variable) for segment in segments for atom in segment):
        ready = like_arn([made for segment in segments if (made := filled(segment, {})) is not None])
        return lambda _: ready

    def in_context(context: Context) -> Matcher | None:
        made = [part for segment in segments if (part := filled(segment, context)) is not None]
        return like_arn(made) if len(made) == len(segments) else None

    return in_context


def _segments(atoms: Template) -> list[list[Atom]]:
    """Split at the first five colons that stand in the policy's own text; one in a variable's name or value is none."""
    segments: list[list[Atom]] = [[]]
    for atom in atoms:
        if not isinstance(atom, str):
            segments[-1].append(atom)
            continue
        first, *rest = atom.split(":", ARN_SEGMENTS - len(segments))
        segments[-1].append(first)
        segments.extend([part] for part in rest)
    return segments


def _boolean(value: str, _: Operator, variables: bool) -> Comparand:
    return comparand(template(value, variables=variables, wildcards=False), _same_truth)


def _same_truth(atoms: Filled) -> Matcher:
    wanted = written(atoms).lower()
    return lambda found: ("true" if scalar.boolean(found) else "false") == wanted


def _ordered(read: Callable[[str], Decimal]) -> Callable[[str, Operator, bool], Comparand]:
    def made(value: str, operator: Operator, _: bool) -> Comparand:
        relation, wanted = RELATIONS[operator.relation], read(value)
        return _always(lambda found: relation(read(found), wanted))

    return made


def _binary(value: str, _: Operator, __: bool) -> Comparand:
    wanted = scalar.binary(value)
    return _always(lambda found: scalar.binary(found) == wanted)


def _address(value: str, _: Operator, __: bool) -> Comparand:
    wanted = scalar.network(value)
    return _always(lambda found: scalar.address(found) in wanted)


def _always(matcher: Matcher) -> Comparand:
    return lambda _: matcher


_MAKERS: Mapping[Family, Callable[[str, Operator, bool], Comparand]] = {
    "text": _text,
    "folded": _folded,
    "like": _like,
    "arn": _arn,
    "boolean": _boolean,
    "number": _ordered(scalar.number),
    "moment": _ordered(scalar.moment),
    "binary": _binary,
    "address": _address,
}
