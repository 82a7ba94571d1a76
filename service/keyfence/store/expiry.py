"""Items whose time is over: DynamoDB removes them when it gets to it, in each table for itself."""

import time
from collections.abc import Callable

from keyfence.store.codec import Item

TTL = "ttl"


def has_expired(item: Item, clock: Callable[[], float] = time.time) -> bool:
    return TTL in item and float(item[TTL]["N"]) <= clock()
