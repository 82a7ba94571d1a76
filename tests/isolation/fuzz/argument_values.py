"""`ArgumentValues`: random values for arguments of any type: own, of a neighbour, malformed, or of a wrong type."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    is_required_input_field,
)

from tests.isolation.fuzz.odd_values import (
    DATES,
    ODD_DECIMALS,
    ODD_INTEGERS,
    ODD_NUMBERS,
    ODD_TEXTS,
    TIMES,
    EnumName,
)

ID_PREFIX_BY_NOUN = {
    "user": "usr_",
    "group": "grp_",
    "member": "usr_",
    "customer": "cus_",
    "order": "ord_",
    "product": "prd_",
    "store": "sto_",
}
USUAL_VALUES: Mapping[str, Sequence[Any]] = {
    "Int": (1, 1, 2, 3),
    "Float": (1.5, 1.25, 0, 50, -1.5),
    "Boolean": (True, False),
    "Decimal": ("1.50", "20", 3),
    "Date": DATES[:2],
    "DateTime": TIMES[:2],
}
ODD_VALUES: Mapping[str, Sequence[Any]] = {
    "Int": (*ODD_INTEGERS, *ODD_NUMBERS),
    "Float": (*ODD_NUMBERS, 90.1, -180, 10**40),
    "Boolean": ("true", 0, None),
    "Decimal": ODD_DECIMALS,
    "Date": DATES,
    "DateTime": TIMES,
}
NEW_TEXTS = {"email": "new{}@x.example", "month": "2026-11", "currency": "EUR", "jti": "jti{}", "sku": "SKU-{}"}
"""Well-formed texts for arguments of these names."""


@dataclass(frozen=True, slots=True)
class ArgumentValues:
    """Makes values for one document. `own` and `foreign` have values by the name of an argument.

    `oddness` is the share of values that are not well-formed. A document with many of them is rejected at the first of
    them, so most documents should have few."""

    random: Random
    own: Mapping[str, Sequence[str]]
    foreign: Mapping[str, Sequence[str]]
    oddness: float

    def is_odd(self, factor: float = 1.0) -> bool:
        """Decides whether the next value, or the next part of the document, is odd."""
        return self.random.random() < self.oddness * factor

    def value(self, type_: Any, name: str, hint: str) -> Any:
        """Returns a value for an argument of this type and name. `hint` has the names of the field and the argument."""
        if self.is_odd(0.1):
            return None
        if self.is_odd(0.1):
            return self.value_of_any_type()
        return self._value_of_type(type_, name, hint)

    def value_of_any_type(self) -> Any:
        text = self._odd_text()
        choices: tuple[Any, ...] = (
            text,
            True,
            self.random.choice(ODD_INTEGERS),
            self.random.choice(ODD_NUMBERS),
            [],
            [[text]],
            {},
        )
        return self.random.choice((*choices, {"id": text}, {"a": {"b": [None, {"c": text}]}}, EnumName("NOWHERE")))

    def _value_of_type(self, type_: Any, name: str, hint: str) -> Any:
        if isinstance(type_, GraphQLNonNull):
            return self._value_of_type(type_.of_type, name, hint)
        if isinstance(type_, GraphQLList):
            return self._list(type_, name, hint)
        if isinstance(type_, GraphQLInputObjectType):
            return self._object(type_, hint)
        if isinstance(type_, GraphQLEnumType):
            return EnumName("NOWHERE" if self.is_odd() else self.random.choice(list(type_.values)))
        return self._scalar(type_.name, name, hint)

    def _list(self, type_: GraphQLList[Any], name: str, hint: str) -> Any:
        if self.is_odd(0.2):
            return self._value_of_type(type_.of_type, name, hint)  # GraphQL makes a list of a single value
        length = self.random.choice((0, 10, 120) if self.is_odd() else (1, 1, 1, 2, 3))
        return [self.value(type_.of_type, name, hint) for _ in range(length)]

    def _object(self, type_: GraphQLInputObjectType, hint: str) -> dict[str, Any]:
        fields = {
            name: self.value(part.type, name, f"{hint} {name}")
            for name, part in type_.fields.items()
            if self._is_sent(part)
        }
        return {**fields, "unknownField": 1} if self.is_odd(0.1) else fields

    def _is_sent(self, part: GraphQLInputField) -> bool:
        return not self.is_odd(0.1) if is_required_input_field(part) else self.random.random() < 0.5

    def _scalar(self, type_name: str, name: str, hint: str) -> Any:
        if type_name == "ID":
            return self._id(name, hint)
        if type_name == "String":
            return self._text(name)
        if type_name == "JSON":
            return self._json(name)
        return self.random.choice(ODD_VALUES[type_name] if self.is_odd() else USUAL_VALUES[type_name])

    def _json(self, name: str) -> Any:
        """Returns the known JSON for an argument of this name, sometimes with a changed member, or any value."""
        known_json = self._choose(self.own, name)
        if not known_json:
            return self.value_of_any_type()
        value = json.loads(known_json)
        if self.random.random() < 0.5:
            parent = self.random.choice(list(_objects_in(value)))
            parent[self.random.choice([*parent, "extra"])] = self.value_of_any_type()
        return value

    def _id(self, name: str, hint: str) -> Any:
        if self.is_odd():
            return self._malformed_id(self._choose(self.foreign, "id"))
        values = self.own if self.random.random() < 0.65 else self.foreign
        ids = values.get(name) or values["id"]
        return self.random.choice(ids) if self.is_odd() else self._id_of_type(ids, hint)

    def _id_of_type(self, ids: Sequence[str], hint: str) -> str:
        """Returns an id of the type that the names of the field and the argument suggest, if there is one."""
        nouns = [noun for noun in ID_PREFIX_BY_NOUN if noun in hint.rpartition(" ")[2].lower()]
        nouns = nouns or [noun for noun in ID_PREFIX_BY_NOUN if noun in hint.lower()]
        prefixes = tuple(ID_PREFIX_BY_NOUN[noun] for noun in nouns)
        matching_ids = [id for id in ids if id.startswith(prefixes)] if prefixes else []
        return self.random.choice(matching_ids or ids)

    def _malformed_id(self, id: str) -> Any:
        tenant = self._choose(self.foreign, "tenant")
        choices = (
            id.lower(), id.upper(), id[:-1], f"{id}0", f" {id}", f"{id}\n", f"{id}\x00", f"{id}#", f"ord_{id[4:]}",
            f"usr_{id[4:]}", f"xxx_{id[4:]}", f"{id[:4]}{'Z' * 26}", f"TENANT#{tenant}#USER#{id}", f"#{tenant}#{id}",
            f"{tenant}#{id}", f"{tenant}/{id}", id[4:], "_", id.replace("_", "%5F"),
            "".join(chr(ord(letter) + 0xFEE0) for letter in id), self._odd_text(),
            self.random.choice(ODD_INTEGERS), [id],
        )  # fmt: skip
        return self.random.choice(choices)

    def _text(self, name: str) -> str:
        if self.is_odd():
            return self._odd_text()
        if name == "after" and self.random.random() < 0.3:
            return self._choose(self.foreign, name)
        new_text = NEW_TEXTS.get(name, "text {}").format(self.random.randrange(1_000))
        known_text = self._choose(self.own if self.random.random() < 0.6 else self.foreign, _pool_name(name))
        return known_text if known_text and self.random.random() < 0.7 else new_text

    def _odd_text(self) -> str:
        chance = self.random.random()
        if chance < 0.02:
            return "y" * 70_000  # more than a request body may have
        if chance < 0.1:
            return f"TENANT#{self._choose(self.foreign, 'tenant')}#"
        return "".join(self.random.choices(ODD_TEXTS, k=2 if chance < 0.3 else 1))

    def _choose(self, values: Mapping[str, Sequence[str]], name: str) -> str:
        choices = values.get(name, ())
        return self.random.choice(choices) if choices else ""


def _pool_name(argument: str) -> str:
    """Returns the name under which the values for a text argument are known: a category is a path, for example."""
    return {"category": "path", "under": "path", "to": "path", "ownerEmail": "email"}.get(argument, argument)


def _objects_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects_in(part)
