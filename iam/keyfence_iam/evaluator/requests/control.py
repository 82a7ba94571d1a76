"""What calls about tables themselves ask for: the action of their own name, and never leading keys."""

from collections.abc import Callable, Iterator, Mapping

from keyfence_iam.evaluator.authorisation import Authorisation
from keyfence_iam.evaluator.requests.place import index_of
from keyfence_iam.evaluator.requests.refusal import NotUnderstood
from keyfence_iam.evaluator.requests.shape import Holder, optional_text, text
from keyfence_iam.evaluator.requests.table import Tables
from keyfence_iam.evaluator.requests.unconfirmed import NOT_ABOUT_A_TABLE, tables_listed

Expander = Callable[[Holder, Tables], Iterator[Authorisation]]

_ABOUT_A_TABLE = (
    "CreateTable",
    "DescribeTable",
    "UpdateTable",
    "DeleteTable",
    "DescribeTimeToLive",
    "UpdateTimeToLive",
    "DescribeContinuousBackups",
    "UpdateContinuousBackups",
    "DescribeContributorInsights",
    "UpdateContributorInsights",
    "DescribeKinesisStreamingDestination",
)
_ABOUT_A_RESOURCE = (
    "TagResource",
    "UntagResource",
    "ListTagsOfResource",
    "GetResourcePolicy",
    "PutResourcePolicy",
    "DeleteResourcePolicy",
)
_ABOUT_NOTHING = ("DescribeLimits", "DescribeEndpoints")
_RESOURCES = frozenset({None, "index", "stream"})

_ALSO_ASKED = {"Tags": "dynamodb:TagResource", "ResourcePolicy": "dynamodb:PutResourcePolicy"}
_ELSEWHERE = ("GlobalTableSourceArn", "ReplicaUpdates", "GlobalTableWitnessUpdates", "MultiRegionConsistency")
"""Parameters of CreateTable and UpdateTable that reach into other regions."""


def _table(operation: str) -> Expander:
    def expand(call: Holder, tables: Tables) -> Iterator[Authorisation]:
        if any(call.get(name) is not None for name in _ELSEWHERE):
            raise NotUnderstood(f"{operation} in several regions")
        arn, index = tables.resource(text(call, "TableName")), optional_text(call, "IndexName")
        yield Authorisation(f"dynamodb:{operation}", arn if index is None else index_of(arn, index))
        for name, action in _ALSO_ASKED.items():
            if call.get(name) is not None:
                yield Authorisation(action, arn)

    return expand


def _resource(operation: str) -> Expander:
    def expand(call: Holder, tables: Tables) -> Iterator[Authorisation]:
        resource = tables.place.resource(text(call, "ResourceArn"), _RESOURCES)
        yield Authorisation(f"dynamodb:{operation}", resource)

    return expand


def _nothing(operation: str) -> Expander:
    def expand(call: Holder, tables: Tables) -> Iterator[Authorisation]:  # noqa: ARG001 - the signature of an Expander
        yield Authorisation(f"dynamodb:{operation}", NOT_ABOUT_A_TABLE)

    return expand


def _list_tables(call: Holder, tables: Tables) -> Iterator[Authorisation]:  # noqa: ARG001 - the signature of an Expander
    yield Authorisation("dynamodb:ListTables", tables_listed(tables.place))


OPERATIONS: Mapping[str, Expander] = {
    "ListTables": _list_tables,
    **{operation: _table(operation) for operation in _ABOUT_A_TABLE},
    **{operation: _resource(operation) for operation in _ABOUT_A_RESOURCE},
    **{operation: _nothing(operation) for operation in _ABOUT_NOTHING},
}
