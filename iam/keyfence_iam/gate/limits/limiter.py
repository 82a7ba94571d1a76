"""The way of an allowed call past the limits of the partitions that it touches, to the engine and back."""

from collections.abc import Sequence
from typing import Any

from keyfence_iam.gate.answer import Answer, Refusal
from keyfence_iam.gate.call import Call
from keyfence_iam.gate.engine.forwarding import forward
from keyfence_iam.gate.engine.schemas import Schemas
from keyfence_iam.gate.engine.upstream import Upstream
from keyfence_iam.gate.limits import batch, spent
from keyfence_iam.gate.limits.asked import Asked, Layouts, Shape, asked, table_name
from keyfence_iam.gate.limits.claim import Claims
from keyfence_iam.gate.limits.consumed import TOLD, asking, content_of, rewritten, wants_to_know, with_content
from keyfence_iam.gate.limits.images import Images, Reader
from keyfence_iam.gate.limits.layout import Layout
from keyfence_iam.gate.limits.limits import Limits, Refused
from keyfence_iam.gate.limits.wording import cancelled, exceeded
from keyfence_iam.gate.request import Request


class Limiter:
    """Calls that touch no partition, and those of PartiQL, go by."""

    def __init__(self, upstream: Upstream, region: str) -> None:
        self._upstream = upstream
        self._layouts = Schemas(upstream, region, Layout.described)
        self._reader = Reader(upstream, region)

    def forget(self) -> None:
        self._layouts.forget()

    async def forward(self, call: Call, limits: Limits) -> Answer:
        tables = _tables(call)
        layouts = await self._layouts.of(tables)
        if call.operation == "Scan":
            return await self._scan(call, limits, layouts)
        known = tables <= layouts.keys()
        wanted = asked(call.operation, call.parameters, call.leading_keys, layouts) if known else None
        return await (forward(call.request, self._upstream) if wanted is None else self._limited(call, limits, wanted))

    async def _limited(self, call: Call, limits: Limits, wanted: Asked) -> Answer:
        """Whom the table's own partitions turn away costs the engine nothing, not even the look at what is there."""
        _turn_away(limits, wanted, limits.refused([part.least for part in wanted.parts]))
        before = await self._reader.images(wanted.looked_at)
        drafts = [write.claims(before.get(write.target.identity)) for write in wanted.writes]
        drafts += [read.least for read in wanted.reads]
        refused = limits.admit(wanted.shape, drafts)
        _turn_away(limits, wanted, refused)
        limits.turned_away(refused)
        return await self._admitted(call, limits, wanted.without(refused), drafts, before, refused)

    async def _admitted(
        self, call: Call, limits: Limits, wanted: Asked, drafts: Sequence[Claims], before: Images, refused: Refused
    ) -> Answer:
        """However it ends, what was taken to be admitted is given back for what it cost."""
        taken = [claims for number, claims in enumerate(drafts) if number not in refused]
        cost: Claims = ()
        try:
            answer = await forward(_request(call, len(drafts), refused), self._upstream)
            content = content_of(answer)
            cost = _cost(wanted, taken, before, answer, content)
        finally:
            limits.settle(taken, cost)
        return _told(call, answer, content, refused)

    async def _scan(self, call: Call, limits: Limits, layouts: Layouts) -> Answer:
        """Charged, but never turned away: which partitions it will meet nobody knows."""
        answer = await forward(asking(call.request, call.parameters), self._upstream)
        content, table = content_of(answer), table_name(call.parameters["TableName"])
        if answer.status == 200 and table in layouts:
            limits.charge(spent.by_scan(table, layouts[table], call.parameters, content))
        return _told(call, answer, content, {})


def _tables(call: Call) -> set[str]:
    """Those that it names, not all that are known: one that is gone must not open the others.

    A scan names its table without having to be led by anything, so that nobody has asked for its keys yet."""
    named = {_table_of(asked.resource) for asked in call.asked}
    return named if call.operation == "Scan" else named & set(call.keys)


def _table_of(resource: str) -> str:
    return resource.partition(":table/")[2].partition("/")[0]


def _turn_away(limits: Limits, wanted: Asked, refused: Refused) -> None:
    """A batch goes on as long as a part of it does."""
    if not refused or (wanted.shape is Shape.BATCH and len(refused) < len(wanted.parts)):
        return
    limits.turned_away(refused)
    if wanted.shape is Shape.TRANSACTION:
        raise Refusal(cancelled(refused, len(wanted.parts)))
    raise Refusal(exceeded(next(iter(refused.values()))))


def _request(call: Call, count: int, refused: Refused) -> Request:
    if not refused:
        return asking(call.request, call.parameters)
    kept = batch.selected(call.parameters["RequestItems"], set(range(count)) - refused.keys())
    return rewritten(call.request, {**call.parameters, "RequestItems": kept})


def _cost(wanted: Asked, taken: Sequence[Claims], before: Images, answer: Answer, content: dict[str, Any]) -> Claims:
    if wanted.writes:
        return spent.by_writes(wanted.writes, taken, before, answer, content)
    return spent.by_reads(wanted.reads, before, content) if answer.status == 200 else ()


def _told(call: Call, answer: Answer, content: dict[str, Any], refused: Refused) -> Answer:
    """The engine's own bytes where nothing has to be kept from the caller or told besides."""
    if answer.status != 200 or not content or (wants_to_know(call.parameters) and not refused):
        return answer
    told = {name: value for name, value in content.items() if name != TOLD or wants_to_know(call.parameters)}
    if refused:
        name, back = batch.UNPROCESSED[call.operation], batch.selected(call.parameters["RequestItems"], refused)
        told[name] = batch.joined(told.get(name) or {}, back)
    return with_content(answer, told)
