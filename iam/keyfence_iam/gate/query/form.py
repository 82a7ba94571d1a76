"""The parameters of AWS's query protocol: names with dots, and lists whose members are numbered."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

MOST_FIELDS = 1000


class BadForm(ValueError):
    """A body that is no form, or one with more fields than any operation has."""


class Form:
    """Of a name that occurs twice the first is meant, names that no operation has are passed over."""

    def __init__(self, body: bytes) -> None:
        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError as error:
            raise BadForm(str(error)) from error
        self._fields = dict(reversed(pairs))

    @classmethod
    def find_version(cls, body: bytes) -> str | None:
        """Of the protocol that the form is written for, which differs from service to service."""
        try:
            return cls(body).find("Version")
        except BadForm:
            return None

    def find(self, name: str) -> str | None:
        return self._fields.get(name)

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(member.get("", "") for member in self.members(name))

    def members(self, name: str) -> tuple[Mapping[str, str], ...]:
        """The members of a list in the order of their numbers, each by the names of its fields."""
        numbered: dict[int, dict[str, str]] = {}
        for field, value in self._fields.items():
            if match := re.fullmatch(rf"{name}\.member\.([1-9][0-9]{{0,4}})(?:\.([A-Za-z]+))?", field, re.ASCII):
                numbered.setdefault(int(match[1]), {})[match[2] or ""] = value
        return tuple(numbered[number] for number in sorted(numbered))
