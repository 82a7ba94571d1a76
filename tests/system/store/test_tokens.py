"""A transaction that is sent several times with one token is made once."""

import uuid
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class CounterWithTokens:
    """A counter of one tenant, whose additions are transactions with tokens."""

    def __init__(self, stack: ServiceStack, tenant: TenantId) -> None:
        self.client: DynamoDBClient = stack.boto_client(tenant)
        self.table = stack.settings.table
        self.key: Any = {"PK": {"S": f"TENANT#{tenant}#COUNT"}, "SK": {"S": "X"}}

    def add(self, token: str, amount: int = 1, condition: str = "attribute_not_exists(shut)") -> None:
        update: Any = {
            "TableName": self.table,
            "Key": self.key,
            "UpdateExpression": "ADD n :n",
            "ConditionExpression": condition,
            "ExpressionAttributeValues": {":n": {"N": str(amount)}},
        }
        self.client.transact_write_items(TransactItems=[{"Update": update}], ClientRequestToken=token)

    @property
    def count(self) -> int:
        item = self.client.get_item(TableName=self.table, Key=self.key, ConsistentRead=True).get("Item", {})
        return int(item.get("n", {"N": "0"})["N"])


@pytest.fixture
def counter(stack: ServiceStack, tenant: TenantId) -> CounterWithTokens:
    return CounterWithTokens(stack, tenant)


def token() -> str:
    return uuid.uuid4().hex


async def test_a_transaction_that_is_repeated_with_its_token_is_made_once(counter: CounterWithTokens) -> None:
    used_token = token()
    for _ in range(3):
        counter.add(used_token)
    counter.add(token())
    assert counter.count == 2


async def test_another_transaction_with_a_used_token_is_refused(counter: CounterWithTokens) -> None:
    used_token = token()
    counter.add(used_token)
    with pytest.raises(ClientError, match="IdempotentParameterMismatchException"):
        counter.add(used_token, amount=2)
    assert counter.count == 1


async def test_a_failed_transaction_may_be_tried_again_with_its_token(counter: CounterWithTokens) -> None:
    used_token = token()
    with pytest.raises(ClientError, match="TransactionCanceledException"):
        counter.add(used_token, condition="attribute_exists(n)")
    counter.add(token())
    counter.add(used_token, condition="attribute_exists(n)")
    assert counter.count == 2


def test_a_token_is_forgotten_after_ten_minutes() -> None:
    from keyfence.local.engines.moto_patches import REMEMBERED_SECONDS, RememberedTransactions

    transactions = RememberedTransactions({"a": (0.0, b"one"), "b": (1.0, b"two")})
    assert transactions.find_digest("a", REMEMBERED_SECONDS) == b"one"
    assert transactions.find_digest("a", REMEMBERED_SECONDS + 0.5) is None
    assert set(transactions.by_token) == {"b"}
    assert REMEMBERED_SECONDS == 600
