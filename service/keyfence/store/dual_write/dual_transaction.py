"""`DualTransaction`: a transaction on one table, together with copies of its writes for a second table."""

import re
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keyfence.store.codec import Item
from keyfence.store.dynamodb.error_codes import CANCELLATION_RULES, DynamoDbError

Action = Mapping[str, Mapping[str, Any]]
"""An element of TransactItems."""

_NOT_A_REASON = "None"
"""DynamoDB's cancellation reason for an action that did not cancel the transaction."""
_MISSING_ITEM_REASONS = frozenset({"ConditionalCheckFailed", "ValidationError"})
"""The cancellation reasons of a copied update, if the second table does not have the item or has an older version."""


@dataclass(frozen=True, slots=True)
class DualTransaction:
    """A transaction on the first table, with a copy of each write for the second table."""

    actions: Sequence[Action]
    copies: Mapping[int, Action]
    """The copies, by the position of their originals in `actions`. A ConditionCheck has no copy."""

    @classmethod
    def for_tables(
        cls, actions: Sequence[Action], second_table: str, new_item_positions: Collection[int] = ()
    ) -> "DualTransaction":
        """Copies the writes for the second table.

        `new_item_positions` are the positions of the updates whose item exists in neither table. Their copies create
        the item. All other copied updates fail if the second table does not have the item."""
        copies = {
            position: _copy_action(action, second_table, is_new_item=position in new_item_positions)
            for position, action in enumerate(actions)
        }
        return cls(actions, {position: copy for position, copy in copies.items() if copy})

    def all_actions(self) -> list[Action]:
        return [*self.actions, *self.copies.values()]

    def missing_copies(self, error: DynamoDbError) -> dict[int, Item]:
        """Returns the keys of the items that must be copied to the second table before a retry, by the position of
        their update in `actions`.

        The result is empty if an action on the first table caused the error, because a retry would fail again."""
        updated_keys: dict[int, Item] = {
            position: copy["Update"]["Key"] for position, copy in self.copies.items() if "Update" in copy
        }
        if error.code == "ValidationException":  # it does not say which action is invalid
            return updated_keys
        reasons, copy_reasons = self._split_reasons(error)
        if not all(_may_succeed_in_retry(reason) for reason in reasons):
            return {}
        return {
            position: key
            for position, key in updated_keys.items()
            if copy_reasons.get(position) in _MISSING_ITEM_REASONS
        }

    def as_single_table_error(self, error: DynamoDbError) -> DynamoDbError:
        """Returns the error as it would be without copies.

        If only the copy of an action failed, and a retry may succeed, the action gets the reason of its copy."""
        if not error.cancellation_reasons:
            return error
        reasons, copy_reasons = self._split_reasons(error)
        merged_reasons = tuple(
            copy_reasons[position]
            if reason == _NOT_A_REASON and _may_succeed_in_retry(copy_reasons.get(position, ""))
            else reason
            for position, reason in enumerate(reasons)
        )
        return DynamoDbError(error.code, str(error), merged_reasons, error.consumed_capacity)

    def _split_reasons(self, error: DynamoDbError) -> tuple[tuple[str, ...], dict[int, str]]:
        """Returns the cancellation reasons of the actions, and those of the copies by position."""
        reasons = error.cancellation_reasons[: len(self.actions)]
        copy_reasons = error.cancellation_reasons[len(self.actions) :]
        return reasons, dict(zip(self.copies, copy_reasons, strict=False))


def batch_as_transaction(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parameters of a TransactWriteItems that makes the writes of a BatchWriteItem."""
    ((table, requests),) = batch["RequestItems"].items()
    actions = [
        {name.removesuffix("Request"): {"TableName": table, **body}}
        for request in requests
        for name, body in request.items()
    ]
    return {"TransactItems": actions, "ClientRequestToken": uuid.uuid4().hex}


def _may_succeed_in_retry(reason: str) -> bool:
    """Whether an action with this cancellation reason did not cause the error, or may succeed in a retry."""
    return reason == _NOT_A_REASON or (reason in CANCELLATION_RULES and CANCELLATION_RULES[reason].is_retryable)


def _copy_action(action: Action, table: str, *, is_new_item: bool) -> Action | None:
    """Returns the same action for another table, without its condition. Returns None for a ConditionCheck.

    The copy of an update has another condition, unless `is_new_item` is True: the item must exist."""
    ((name, body),) = action.items()
    if name == "ConditionCheck":
        return None
    if name == "Update":
        update = _without_condition(body)
        return {name: {"TableName": table, **(update if is_new_item else _if_item_exists(update))}}
    item_or_key = "Item" if name == "Put" else "Key"
    return {name: {"TableName": table, item_or_key: body[item_or_key]}}


def _without_condition(body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an update without its condition and without the condition's placeholders: DynamoDB rejects placeholders
    that no expression uses."""
    used_placeholders = set(re.findall(r"[#:]\w+", body["UpdateExpression"]))
    update = {"Key": body["Key"], "UpdateExpression": body["UpdateExpression"]}
    for parameter in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        placeholders = {name: value for name, value in body.get(parameter, {}).items() if name in used_placeholders}
        if placeholders:
            update[parameter] = placeholders
    return update


def _if_item_exists(update: Mapping[str, Any]) -> dict[str, Any]:
    names = {**update.get("ExpressionAttributeNames", {}), "#exists": "PK"}
    return {**update, "ConditionExpression": "attribute_exists(#exists)", "ExpressionAttributeNames": names}
