"""Registers sharded counters, which have no GraphQL fields of their own."""

from keyfence.domain import Domain
from keyfence.domains.counters import sharded_counter

DOMAIN = Domain(name="counters", access_patterns=(sharded_counter,))
