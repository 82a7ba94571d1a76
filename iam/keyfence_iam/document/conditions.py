"""Condition blocks: operators, keys and the values that each operator can compare."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from keyfence_iam.document import scalar
from keyfence_iam.document.operator import Family, Operator, find_operator
from keyfence_iam.document.places import kind_of, listed, mapping, refuse, shown, text
from keyfence_iam.document.policy import Condition
from keyfence_iam.document.template import BadTemplate, Variable, template

READERS: Mapping[Family, Callable[[str], object]] = {
    "number": scalar.number,
    "moment": scalar.moment,
    "boolean": scalar.boolean,
    "binary": scalar.binary,
    "address": scalar.network,
    "null": scalar.boolean,
}
"""How a policy's value is read, by the family of the operator; texts and ARNs need no reading."""


def condition_block(value: object, where: str, *, variables: bool) -> tuple[Condition, ...]:
    block = mapping(value, where)
    return tuple(
        condition
        for name, keys in block.items()
        for condition in _conditions(name, keys, f"{where}.{shown(name)}", variables=variables)
    )


def _conditions(name: str, value: object, where: str, *, variables: bool) -> list[Condition]:
    operator = find_operator(name)
    if operator is None:
        refuse(where, "unknown operator")
    keys = mapping(value, where)
    if len({key.lower() for key in keys}) < len(keys):
        refuse(where, "a key occurs twice, in different case")
    return [_condition(name, operator, key, keys[key], where, variables=variables) for key in keys]


def _condition(name: str, operator: Operator, key: str, value: Any, where: str, *, variables: bool) -> Condition:
    if not text(key, where).strip():
        refuse(where, "a key is empty")
    values = listed(value, f"{where}.{shown(key)}", empty=True)
    return Condition(name, key, tuple(_value(item, operator, place, variables=variables) for item, place in values))


def _value(item: object, operator: Operator, where: str, *, variables: bool) -> str:
    """The value as text: IAM takes numbers and truth values without their quotation marks too."""
    if item is None or isinstance(item, list | tuple | Mapping):
        refuse(where, f"a text, a number or a truth value is wanted, not {kind_of(item)}")
    written = text(as_text(item), where)
    try:
        _check(written, operator, variables=variables and operator.takes_variables)
    except (BadTemplate, scalar.Unreadable) as error:
        refuse(where, str(error))
    return written


def as_text(item: object) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, float) and isfinite(item) and item.is_integer() and abs(item) < 1e15:
        return str(int(item))
    return str(item)


def _check(written: str, operator: Operator, *, variables: bool) -> None:
    atoms = template(written, variables=variables)
    read = READERS.get(operator.family)
    if read is not None and not any(isinstance(atom, Variable) for atom in atoms):
        read(written)
