"""What a call really cost each of its parts, once its answer is there."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from keyfence_iam.gate.answer import Answer
from keyfence_iam.gate.limits.claim import Claim, Claims, Partition
from keyfence_iam.gate.limits.consumed import reported
from keyfence_iam.gate.limits.images import Images
from keyfence_iam.gate.limits.layout import Layout
from keyfence_iam.gate.limits.read import Read, shows_all
from keyfence_iam.gate.limits.size import item_bytes
from keyfence_iam.gate.limits.units import read_units
from keyfence_iam.gate.limits.write import Write

Content = Mapping[str, Any]


def by_writes(
    writes: Sequence[Write], drafts: Sequence[Claims], before: Images, answer: Answer, content: Content
) -> Claims:
    """As drafted where it was done, the price of looking where a condition did not hold, else nothing."""
    if answer.status == 200:
        return tuple(_written(writes, drafts, content))
    code = str(content.get("__type", "")).rpartition("#")[2]
    if code == "ConditionalCheckFailedException":
        return tuple(claim for write in writes for claim in write.in_vain(before.get(write.target.identity)))
    if code == "TransactionCanceledException" and not _invalid(content):
        return tuple(claim for write in writes for claim in write.in_vain(before.get(write.target.identity)))
    return ()


def _invalid(content: Content) -> bool:
    return any(reason.get("Code") == "ValidationError" for reason in content.get("CancellationReasons") or ())


def _written(writes: Sequence[Write], drafts: Sequence[Claims], content: Content) -> Iterator[Claim]:
    """A transaction that was carried out before is only read again when it is repeated, and the engine says so."""
    if (repeated := reported(content, "ReadCapacityUnits")) and not reported(content, "WriteCapacityUnits"):
        yield from (Claim(write.target.partition, "read", repeated / len(writes)) for write in writes)
        return
    yield from (claim for draft in drafts for claim in draft)
    rest = reported(content) - sum(claim.units for draft in drafts for claim in draft)
    unsure = [write for write in writes if write.uncertain]
    if rest > 0:
        yield from (Claim(write.target.partition, "write", rest / len(unsure)) for write in unsure)


def by_reads(reads: Sequence[Read], before: Images, content: Content) -> Claims:
    """By the items in the answer where it shows them whole. What a query hides only the engine can tell."""
    shown = _shown(reads, content)
    return tuple(claim for number, read in enumerate(reads) for claim in _read(read, shown[number], before, content))


def _read(read: Read, shown: int, before: Images, content: Content) -> Claims:
    if read.whole:
        return read.claims(shown)
    if read.target is not None:
        return read.claims(item_bytes(before.get(read.target.identity)))
    return read.charged(max(reported(content), read.claims(shown)[0].units))


def _shown(reads: Sequence[Read], content: Content) -> list[int]:
    """The bytes of each read in the answer: of one call, of a transaction in its order, of a batch by the keys."""
    responses = content.get("Responses")
    if responses is None:
        return [sum(map(item_bytes, content.get("Items") or [content.get("Item")]))]
    if isinstance(responses, list):
        return [item_bytes(one.get("Item")) for one in responses]
    layouts = {read.target.table: read.target.layout for read in reads if read.target}
    sizes = {
        (table, layout.identity(item)): item_bytes(item)
        for table, layout in layouts.items()
        for item in responses.get(table, ())
    }
    return [sizes.get(read.target.identity, 0) if read.target else 0 for read in reads]


def by_scan(table: str, layout: Layout, call: Content, content: Content) -> Claims:
    """Spread over the partitions of the items that it shows; what it shows nothing of is charged to nobody."""
    index = call.get("IndexName")
    leading = (layout if index is None else layout.indexes[index]).keys[0]
    shares: defaultdict[Partition, int] = defaultdict(int)
    for item in content.get("Items") or ():
        if leading in item:
            shares[layout.partition(table, item, index)] += item_bytes(item)
    seen = sum(shares.values())
    least = read_units(seen, consistent=bool(call.get("ConsistentRead")))
    total = least if shows_all(call) else max(least, reported(content))
    return tuple(Claim(partition, "read", total * share / seen) for partition, share in shares.items())
