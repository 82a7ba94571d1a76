"""Tokens in the shapes of known identity providers, and the mappings that the page about identity providers shows."""

import copy
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from keyfence.auth.claims import principal_from_claims
from keyfence.auth.issuer import issuer_from_settings
from keyfence.auth.principal import Principal, Role
from keyfence.auth.token_verifier import TokenVerifier
from keyfence.settings import IssuerSettings
from keyfence_iam.tenant import parse_tenant_id
from tests.docs.pages import DOCS
from tests.fakes.clock import ManualClock
from tests.fakes.identity_provider import Json, jwk, private_key, sign_token

PAGE = DOCS / "build" / "identity.md"
FOLDER = Path(__file__).parents[1] / "cases" / "tokens"
ISSUED_AT = 1_800_000_000
"""The `iat` of every recorded token."""

_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_JSON_BLOCK = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedToken:
    """A file of tests/cases/tokens. `neighbour` has claims that name another organisation than that of the token."""

    name: str
    section: str
    header: Json
    claims: Json
    expected: Json
    neighbour: Json

    @property
    def principal(self) -> Principal:
        values = {**self.expected, "scopes": frozenset(self.expected["scopes"])}
        values |= {"tenant": parse_tenant_id(values["tenant"]), "role": Role(values["role"])}
        return Principal(issued_at=self.claims["iat"], expires_at=self.claims["exp"], **values)

    @property
    def mapping(self) -> Json:
        """The entry of KEYFENCE_ISSUERS on the page."""
        mapping, _ = json_of_sections()[self.section]
        return copy.deepcopy(mapping)

    def sign(self, claims: Json | None = None, **headers: object) -> str:
        payload = json.dumps(self.claims if claims is None else claims).encode()
        return self.sign_bytes(payload, **headers)

    def sign_bytes(self, payload: bytes, **headers: object) -> str:
        return sign_token({**self.header, **headers}, payload, private_key("RS256"), "RS256")

    def with_claim(self, path: str, value: object) -> Json:
        """Returns the claims with another value of the claim. None as the value removes the claim."""
        claims: Json = copy.deepcopy(self.claims)
        is_whole_name = path in claims or "." not in path
        *parents, name = [path] if is_whole_name else path.split(".")
        container: Any = claims
        for parent in parents:
            container = container[parent]
        container[name] = value
        if value is None:
            del container[name]
        return claims

    def verifier(self, **mapping: object) -> TokenVerifier[Principal]:
        """Returns a verifier whose only issuer is that of the token, with this mapping."""
        jwks = {"keys": [jwk(private_key("RS256"), self.header["kid"])]}
        settings = IssuerSettings.model_validate({**mapping, "issuer": self.claims["iss"], "jwks": jwks})
        return TokenVerifier(
            issuers=[issuer_from_settings(settings)],
            audience="keyfence",
            caller_from_claims=principal_from_claims,
            clock=ManualClock(ISSUED_AT + 1.0),
        )

    def documented_verifier(self, **changes: object) -> TokenVerifier[Principal]:
        mapping = {name: value for name, value in self.mapping.items() if name != "jwks_uri"}
        return self.verifier(**{**mapping, **changes})


@cache
def json_of_sections() -> dict[str, tuple[Json, Json]]:
    """Returns the mapping and the sample of each section of the page that shows both."""
    blocks = {title: _JSON_BLOCK.findall(text) for title, text in _SECTION.findall(PAGE.read_text())}
    return {title: (json.loads(found[0]), json.loads(found[1])) for title, found in blocks.items() if len(found) == 2}


def recorded_token(name: str) -> RecordedToken:
    return RecordedToken(name=name, **json.loads((FOLDER / f"{name}.json").read_text()))


RECORDED = [recorded_token(path.stem) for path in sorted(FOLDER.glob("*.json"))]
