"""How DynamoDB says that a partition has no more to give."""

from collections.abc import Mapping

from keyfence_iam.gate.answer import DYNAMODB, Answer, error, json_answer
from keyfence_iam.gate.limits.claim import Claim

_TABLE = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
_INDEX = (
    "The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded."
    " Consider increasing your provisioning level for the under-provisioned global secondary indexes with the"
    " UpdateTable API"
)
_CANCELLED = "Transaction cancelled, please refer cancellation reasons for specific reasons"


def exceeded(claim: Claim) -> Answer:
    return error("ProvisionedThroughputExceededException", _message(claim))


def cancelled(refused: Mapping[int, Claim], count: int) -> Answer:
    """A reason for every item of the transaction, in their order."""
    reasons = [_reason(refused.get(number)) for number in range(count)]
    codes = ", ".join(reason["Code"] for reason in reasons)
    return json_answer(
        {
            "__type": f"{DYNAMODB}TransactionCanceledException",
            "Message": f"{_CANCELLED} [{codes}]",
            "CancellationReasons": reasons,
        },
        400,
    )


def _reason(claim: Claim | None) -> dict[str, str]:
    if claim is None:
        return {"Code": "None"}
    return {"Code": "ProvisionedThroughputExceeded", "Message": _message(claim)}


def _message(claim: Claim) -> str:
    return _TABLE if claim.partition.index is None else _INDEX
