"""The turn of a request: under which name it is counted, and what it tells of its cost."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

from keyfence.graphql.context import Caller
from keyfence.graphql.request import RequestInfo
from keyfence.usage.model import SEVERAL, UNKNOWN
from keyfence.usage.prices import Prices


def turn_of(caller: Caller, request: RequestInfo | None) -> AbstractAsyncContextManager[None]:
    """A request that is not understood has a turn too, since its caller is looked at all the same."""
    if request is None:
        return caller.turn.taken(UNKNOWN, writes=False)
    return caller.turn.taken(request.root or SEVERAL, writes=request.mutates)


def cost_of(prices: Prices, caller: Caller) -> Mapping[str, object]:
    """So far: the calls of this request, the look at its token included."""
    spent = caller.turn
    usd = float(prices.of(spent.read_units, spent.write_units))
    return {
        "calls": spent.calls.total(),
        "readUnits": spent.read_units,
        "writeUnits": spent.write_units,
        "usd": usd,
    }
