"""Registers revoked sessions."""

from keyfence.domain import Domain
from keyfence.domains.sessions import revocation
from keyfence.domains.sessions.graphql import SessionMutations

DOMAIN = Domain(name="sessions", access_patterns=(revocation,), mutations=(SessionMutations,))
