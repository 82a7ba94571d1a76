"""`TokenDraft`: a JWT whose header, claims, signature and text can each be changed before it is written."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.fakes.identity_provider import base64url

Members = tuple[tuple[str, Any], ...]
"""The members of a JSON object in their order. A name can occur twice."""
Sign = Callable[[bytes], bytes]
TextEdit = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenDraft:
    """`sign` makes the signature of the written header and claims. `edits` change the text of the finished token."""

    header: Members
    claims: Members
    sign: Sign
    edits: tuple[TextEdit, ...] = ()
    scheme: str = "Bearer "

    def authorization(self) -> str:
        """Returns the value of the Authorization header."""
        content = f"{base64url(_json(self.header))}.{base64url(_json(self.claims))}"
        text = f"{content}.{base64url(self.sign(content.encode()))}"
        for edit in self.edits:
            text = edit(text)
        return f"{self.scheme}{text}"

    def with_header(self, change: Callable[[Members], Members]) -> "TokenDraft":
        return replace(self, header=change(self.header))

    def with_claims(self, change: Callable[[Members], Members]) -> "TokenDraft":
        return replace(self, claims=change(self.claims))

    def with_edit(self, edit: TextEdit) -> "TokenDraft":
        return replace(self, edits=(*self.edits, edit))


def value_of(members: Members, name: str) -> Any:
    return dict(members).get(name)


def without(members: Members, name: str) -> Members:
    return tuple(member for member in members if member[0] != name)


def with_value(members: Members, name: str, value: Any) -> Members:
    return (*without(members, name), (name, value))


def _json(members: Sequence[tuple[str, Any]]) -> bytes:
    return f"{{{','.join(f'{json.dumps(name)}:{json.dumps(value)}' for name, value in members)}}}".encode()
