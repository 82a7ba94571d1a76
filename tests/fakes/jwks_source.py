"""A source of keys that counts fetches, and that a test can make fail or wait."""

from collections.abc import Mapping
from threading import Event

from keyfence.auth.jwk_parser import parse_jwks_leniently
from keyfence.auth.jwks_url import JwksUnavailable
from keyfence.auth.key_set import VerificationKey


class ScriptedJwksSource:
    """Returns the keys of `document`. A fetch waits until `may_answer` is set, and fails while `is_down` is true."""

    def __init__(self, document: object) -> None:
        self.document = document
        self.fetches = 0
        self.is_down = False
        self.may_answer = Event()
        self.may_answer.set()

    def fetch(self) -> Mapping[str, VerificationKey]:
        self.fetches += 1
        self.may_answer.wait(timeout=10)
        if self.is_down:
            raise JwksUnavailable("down")
        return parse_jwks_leniently(self.document)
