"""Client request tokens on moto, which knows none: a transaction that is sent again has already been done."""

import json
import time
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from moto.core.responses import ActionResult
from moto.dynamodb.exceptions import ERROR_TYPE_PREFIX, DynamodbException
from moto.dynamodb.responses import DynamoHandler

REMEMBERED_SECONDS = 600.0

_moto = DynamoHandler.transact_write_items


@dataclass(slots=True)
class Tokens:
    """The transactions of the last ten minutes, by token: what each of them was, and when."""

    done: dict[str, tuple[float, bytes]] = field(default_factory=dict)

    def find(self, token: str, now: float) -> bytes | None:
        for old in [one for one, (at, _) in self.done.items() if at < now - REMEMBERED_SECONDS]:
            del self.done[old]
        return self.done[token][1] if token in self.done else None


_tokens = Tokens()


def install() -> None:
    setattr(DynamoHandler, "transact_write_items", _transact)  # noqa: B010


def _transact(handler: DynamoHandler) -> ActionResult:
    token = handler.body.get("ClientRequestToken")
    return _moto(handler) if token is None else _once(handler, token)


def _once(handler: DynamoHandler, token: str) -> ActionResult:
    """A transaction that failed may be tried again under its token: only what was done is remembered."""
    asked = _digest(handler.body["TransactItems"])
    known = _tokens.find(token, time.monotonic())
    if known is None:
        answer = _moto(handler)
        _tokens.done[token] = (time.monotonic(), asked)
        return answer
    if known != asked:
        raise DynamodbException(
            f"{ERROR_TYPE_PREFIX}IdempotentParameterMismatchException",
            "The request uses the same client token as a previous, but non-identical request.",
        )
    return ActionResult({"ConsumedCapacity": [], "ItemCollectionMetrics": {}})


def _digest(writes: list[dict[str, Any]]) -> bytes:
    return sha256(json.dumps(writes, sort_keys=True, default=repr).encode()).digest()
