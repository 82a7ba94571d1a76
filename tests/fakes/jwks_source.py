"""A JWKS source that counts fetches, and that a test can make fail or wait."""

from collections.abc import Mapping
from threading import Event

from keyfence.auth.jwk_parser import parse_jwks_leniently
from keyfence.auth.jwks_refresh import JwksUnavailable
from keyfence.auth.signature_algorithms import VerificationKey


class ScriptedJwksSource:
    def __init__(self, document: object) -> None:
        self.document = document
        self.fetches = 0
        self.down = False
        self.open = Event()
        self.open.set()

    def fetch(self) -> Mapping[str, VerificationKey]:
        self.fetches += 1
        self.open.wait(timeout=10)
        if self.down:
            raise JwksUnavailable("down")
        return parse_jwks_leniently(self.document)
