"""Calls for a tenant that is being moved: read from one table, written to both or to neither."""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from keyfence.errors import KeyfenceError, Throttled
from keyfence.store.calls import Caller
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.errors import RETRY_AFTER_MS, Refused
from keyfence.store.likeness import Likeness, Outcome
from keyfence.store.shadow import Said, asked_of, differ, said
from keyfence.store.twins import Twins
from keyfence_iam.boundary import TenantId

MEMBERS = 100
"""What DynamoDB takes in a transaction."""
ROUNDS = 6
AFTER_THE_MOVE_MS = 60_000

OnDifference = Callable[[TenantId, str], None]

log = structlog.get_logger(__name__)


def unheard(_tenant: TenantId, _operation: str) -> None:
    """Nobody is told of differences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror(Caller):
    """Whoever asks names the table that is read; what is written there is written to `also` in the same transaction."""

    also: str
    on_difference: OnDifference = unheard

    async def call(self, operation: str, parameters: Mapping[str, Any], *, again: bool = False) -> Answer:
        match operation:
            case "TransactWriteItems":
                return await self._transact(parameters)
            case "BatchWriteItem":
                return await self._transact(_together(parameters))
            case "GetItem" | "Query" | "BatchGetItem" | "TransactGetItems":
                return await self._read(operation, parameters, again=again)
        raise TypeError(f"{operation} is not made on two tables")

    async def _transact(self, parameters: Mapping[str, Any]) -> Answer:
        """An update's twin needs the item in the other table: where it is missing there, it is copied first.

        What the source does not have either the update makes, in both."""
        twins, until = Twins.of(parameters["TransactItems"], self.also), self.home.until
        token, made = parameters["ClientRequestToken"], set[int]()
        for attempt in range(ROUNDS):
            try:
                return await self._both(twins, token, until)
            except Refused as refusal:
                if not (behind := twins.behind(refusal)) or attempt == ROUNDS - 1:
                    raise _ended(twins, refusal, bool(behind)) from refusal
            outcomes = {at: await self._likeness.make(key) for at, key in behind.items()}
            if nowhere := {at for at, outcome in outcomes.items() if outcome is Outcome.NOWHERE} - made:
                made |= nowhere
                twins, token = Twins.of(twins.members, self.also, made), uuid.uuid4().hex
            await asyncio.sleep(self.patience.pause(attempt))
        raise AssertionError("the last round ends in an answer or in an error")

    async def _both(self, twins: Twins, token: str, until: float) -> Answer:
        if len(members := twins.all()) > MEMBERS:
            text = "the tenant is being moved, and so large a change has to wait until it has arrived; retry then"
            raise Throttled(text, retryAfterMs=AFTER_THE_MOVE_MS)
        parameters = {"TransactItems": members, "ClientRequestToken": token}
        return await self._called("TransactWriteItems", parameters, until)

    @property
    def _likeness(self) -> Likeness:
        return Likeness(caller=self, source=self.table, target=self.also)

    async def _read(self, operation: str, parameters: Mapping[str, Any], *, again: bool) -> Answer:
        if not self.home.shadow:
            return await Caller.call(self, operation, parameters, again=again)
        answer, other = await asyncio.gather(
            Caller.call(self, operation, parameters, again=again), self._said(self.also, operation, parameters)
        )
        if said(answer, self.table) not in (None, other):
            await self._doubt(operation, parameters)
        return answer

    async def _doubt(self, operation: str, parameters: Mapping[str, Any]) -> None:
        async def look() -> tuple[Said, Said]:
            asked = (self._said(table, operation, parameters, surely=True) for table in (self.table, self.also))
            one, other = await asyncio.gather(*asked)
            return one, other

        if self.home.tenant is not None and await differ(look, self.patience):
            log.error("shadow_differs", tenant=self.home.tenant, operation=operation, index=parameters.get("IndexName"))
            self.on_difference(self.home.tenant, operation)

    async def _said(self, table: str, operation: str, parameters: Mapping[str, Any], *, surely: bool = False) -> Said:
        """Whoever asked is answered by the table that is read, whatever becomes of this."""
        try:
            return said(await Caller.call(self, operation, asked_of(table, parameters, surely=surely)), table)
        except (Refused, KeyfenceError) as error:
            log.warning("shadow_unread", tenant=self.home.tenant, operation=operation, text=str(error))
            return None


def _ended(twins: Twins, refusal: Refused, behind: bool) -> Exception:
    if behind and refusal.code == "TransactionCanceledException":
        return Throttled(
            "the tenant is being moved, and this is in the way just now; retry", retryAfterMs=RETRY_AFTER_MS
        )
    return twins.told(refusal)


def _together(batch: Mapping[str, Any]) -> dict[str, Any]:
    """A batch as a transaction: its requests name their table once, and each member for itself."""
    ((table, requests),) = batch["RequestItems"].items()
    members = [
        {verb.removesuffix("Request"): {"TableName": table, **body}} for one in requests for verb, body in one.items()
    ]
    return {"TransactItems": members, "ClientRequestToken": uuid.uuid4().hex}
