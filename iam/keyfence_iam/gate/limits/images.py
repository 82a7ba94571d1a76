"""Items as they are before a call, read from the engine by the gate itself."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from keyfence_iam.gate.engine.own import own_headers
from keyfence_iam.gate.engine.upstream import Upstream
from keyfence_iam.gate.limits.size import Item
from keyfence_iam.gate.limits.target import Identity, Target

Images = Mapping[Identity, Item]

MOST = 100
"""So many keys one BatchGetItem may have."""


class Reader:
    """Reads consistently. What the engine refuses to read it will refuse the caller too, in its own words."""

    def __init__(self, upstream: Upstream, region: str) -> None:
        self._upstream, self._headers = upstream, own_headers(region, "BatchGetItem")

    async def images(self, targets: Iterable[Target]) -> Images:
        wanted, found = list({target.identity: target for target in targets}.values()), dict[Identity, Item]()
        for start in range(0, len(wanted), MOST):
            some = wanted[start : start + MOST]
            layouts = {target.table: target.layout for target in some}
            for table, item in await self._items(_requested(some)):
                found[table, layouts[table].identity(item)] = item
        return found

    async def _items(self, requested: Mapping[str, Any]) -> list[tuple[str, Item]]:
        found: list[tuple[str, Item]] = []
        while requested:
            answer = await self._upstream.post(self._headers, orjson.dumps({"RequestItems": requested}))
            content = orjson.loads(answer.body) if answer.status == 200 else {}
            found += [(table, item) for table, items in (content.get("Responses") or {}).items() for item in items]
            requested = content.get("UnprocessedKeys") or {}
        return found


def _requested(targets: Iterable[Target]) -> dict[str, Any]:
    requested: dict[str, Any] = {}
    for target in targets:
        entry = requested.setdefault(target.table, {"ConsistentRead": True, "Keys": []})
        entry["Keys"].append(target.key)
    return requested
