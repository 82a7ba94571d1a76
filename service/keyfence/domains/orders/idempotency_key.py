"""`IdempotencyKey`: if a request to place an order is repeated with the same key, only one order is placed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

import orjson

from keyfence.domains.orders.line_items import RequestedLine
from keyfence.domains.orders.model import CustomerId, OrderId
from keyfence.validation import checked_line

MAX_KEY_LENGTH = 200
RETENTION = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey:
    """The order that was placed with a key, and a hash of the request.

    After `ttl`, in seconds since 1970, the key can be used for another order."""

    key: str
    order_id: OrderId
    fingerprint: str
    ttl: int
    created_at: datetime
    updated_at: datetime
    version: int = 1


def checked_key(key: str | None) -> str | None:
    return None if key is None else checked_line(key, "idempotencyKey", MAX_KEY_LENGTH)


def is_expired(key: IdempotencyKey, now: datetime) -> bool:
    return key.ttl <= now.timestamp()


def request_fingerprint(customer: CustomerId, region: str, lines: Sequence[RequestedLine]) -> str:
    """Returns a hash of a request to place an order. It does not depend on prices, which may change meanwhile."""
    requested = [[line.product_id, line.quantity] for line in lines]
    return sha256(orjson.dumps([customer, region, requested])).hexdigest()


def new_idempotency_key(
    key: str, order_id: OrderId, fingerprint: str, now: datetime, expired_key: IdempotencyKey | None
) -> IdempotencyKey:
    """Returns a new key. It replaces the expired key if there is one."""
    return IdempotencyKey(
        key=key,
        order_id=order_id,
        fingerprint=fingerprint,
        ttl=int((now + RETENTION).timestamp()),
        created_at=now,
        updated_at=now,
        version=expired_key.version + 1 if expired_key else 1,
    )
