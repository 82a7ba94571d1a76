"""The fence: item calls inside given partitions, and the refusal of every call that names none."""

from collections.abc import Iterable

from keyfence_iam.document import Condition, Statement
from keyfence_iam.policies.actions import COPIES, DATA, INDEX_READS, KEYED, PARTIQL, SCAN, SEARCH, STREAM_READS

INDEXES = ("GSI1", "GSI2", "GSI3")
LEADING_KEYS = "dynamodb:LeadingKeys"
EVERYTHING = ("*",)


def inside(tables: tuple[str, ...], prefix: str, actions: tuple[str, ...]) -> tuple[Statement, ...]:
    """These calls on partitions that begin with the prefix, of these tables and of their indexes."""
    return (
        Statement(
            effect="Allow",
            sid="ItemsInsideTheFence",
            actions=actions,
            resources=tables,
            conditions=leading(prefix),
        ),
        Statement(
            effect="Allow",
            sid="IndexesInsideTheFence",
            actions=INDEX_READS,
            resources=indexes_of(*tables),
            conditions=leading(prefix),
        ),
        UNKEYED,
    )


def indexes_of(*tables: str) -> tuple[str, ...]:
    return tuple(f"{table}/index/{index}" for table in tables for index in INDEXES)


def leading(prefix: str) -> tuple[Condition, ...]:
    """ForAllValues holds for calls without leading keys too: the Null line is what keeps those out."""
    return (
        Condition("ForAllValues:StringLike", LEADING_KEYS, (f"{prefix}*",)),
        Condition("Null", LEADING_KEYS, ("false",)),
    )


def refused(actions: Iterable[str], sid: str) -> Statement:
    return Statement(effect="Deny", sid=sid, actions=tuple(actions), resources=EVERYTHING)


UNKEYED = Statement(
    effect="Deny",
    sid="NoItemsWithoutLeadingKeys",
    actions=KEYED,
    resources=EVERYTHING,
    conditions=(Condition("Null", LEADING_KEYS, ("true",)),),
)
UNFENCEABLE = refused((*PARTIQL, SEARCH, *STREAM_READS, *COPIES), "NothingByTheTable")
UNSCANNED = refused((SCAN,), "NoScan")
NO_DATA = refused(DATA, "NoItems")
