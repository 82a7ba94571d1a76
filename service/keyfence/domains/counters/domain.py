"""Registers sharded counters. They have no GraphQL fields; other domains show their totals."""

from keyfence.domain import Domain
from keyfence.domains.counters import sharded_counter

DOMAIN = Domain(name="counters", access_patterns=(sharded_counter,))
