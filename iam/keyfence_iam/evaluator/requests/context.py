"""The condition keys of DynamoDB that a call's parameters give their values."""

from keyfence_iam.evaluator.authorisation import Value
from keyfence_iam.evaluator.requests.mentioned import mentioned, projects
from keyfence_iam.evaluator.requests.shape import Holder, choice

SELECT = frozenset({"ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT"})
RETURN_VALUES = frozenset({"NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"})


def attributes_key(names: tuple[str, ...]) -> dict[str, Value]:
    """Absent, not empty, where no attribute is mentioned."""
    return {"dynamodb:Attributes": names} if names else {}


def attributes_of(call: Holder) -> dict[str, Value]:
    return attributes_key(mentioned(call))


def select_of(call: Holder, index: str | None = None) -> dict[str, Value]:
    whole = "ALL_ATTRIBUTES" if index is None else "ALL_PROJECTED_ATTRIBUTES"
    default = "SPECIFIC_ATTRIBUTES" if projects(call) else whole
    return {"dynamodb:Select": choice(call, "Select", SELECT, default)}


def returned_of(call: Holder) -> dict[str, Value]:
    return {"dynamodb:ReturnValues": choice(call, "ReturnValues", RETURN_VALUES, "NONE")}
