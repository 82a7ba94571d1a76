"""Every error code of DynamoDB has a rule, and errors for clients reveal nothing."""

import pytest

from keyfence.errors import Conflict, Forbidden, Internal, KeyfenceError, Throttled
from keyfence.store.dynamodb.error_codes import CANCELLATION_RULES, ERROR_RULES, DynamoDbError

CANCELED_CODE = "TransactionCanceledException"


def canceled(*reasons: str) -> DynamoDbError:
    return DynamoDbError(CANCELED_CODE, "cancelled", reasons)


@pytest.mark.parametrize("code", ERROR_RULES)
def test_every_code_becomes_a_keyfence_error(code: str) -> None:
    dynamodb_error = DynamoDbError(code, "arn:aws:dynamodb:secret")
    assert dynamodb_error.rule is ERROR_RULES[code]
    error = dynamodb_error.as_keyfence_error()
    assert isinstance(error, KeyfenceError)
    assert isinstance(error, Internal) or "secret" not in error.message, "only an Internal is masked at the edge"


@pytest.mark.parametrize(
    ("code", "error", "is_retried"),
    [
        ("ProvisionedThroughputExceededException", Throttled, True),
        ("ThrottlingException", Throttled, True),
        ("RequestLimitExceeded", Throttled, True),
        ("TransactionConflictException", Throttled, True),
        ("TransactionInProgressException", Throttled, True),
        ("InternalServerError", Internal, True),
        ("ServiceUnavailable", Internal, True),
        ("ConnectionLost", Internal, True),
        ("ConditionalCheckFailedException", Conflict, False),
        ("AccessDeniedException", Forbidden, False),
        ("ValidationException", Internal, False),
        ("ResourceNotFoundException", Internal, False),
        ("ExpiredTokenException", Internal, False),
        ("UnrecognizedClientException", Internal, False),
        ("IdempotentParameterMismatchException", Internal, False),
        ("SomethingNewException", Internal, False),
        ("", Internal, False),
    ],
)
def test_each_code_has_its_error(code: str, error: type[KeyfenceError], is_retried: bool) -> None:
    dynamodb_error = DynamoDbError(code, "text")
    assert type(dynamodb_error.as_keyfence_error()) is error
    assert dynamodb_error.rule.is_retryable is is_retried


@pytest.mark.parametrize("code", ["ProvisionedThroughputExceededException", "TransactionConflictException"])
def test_a_throttled_error_says_when_to_retry(code: str) -> None:
    retry_after_ms = DynamoDbError(code, "").as_keyfence_error().extensions["retryAfterMs"]
    assert isinstance(retry_after_ms, int)
    assert retry_after_ms > 0


@pytest.mark.parametrize("reason", CANCELLATION_RULES)
def test_one_reason_decides_a_canceled_transaction(reason: str) -> None:
    assert canceled("None", reason, "None").rule is CANCELLATION_RULES[reason]


def test_a_failed_condition_decides_over_retryable_reasons() -> None:
    for reasons in (
        ("TransactionConflict", "ConditionalCheckFailed"),
        ("ConditionalCheckFailed", "ThrottlingError"),
        ("None", "ProvisionedThroughputExceeded", "ConditionalCheckFailed"),
    ):
        assert isinstance(canceled(*reasons).as_keyfence_error(), Conflict)
        assert not canceled(*reasons).rule.is_retryable


def test_a_transaction_with_only_conflicts_is_retried() -> None:
    assert canceled("TransactionConflict", "None", "ThrottlingError").rule.is_retryable


@pytest.mark.parametrize("reasons", [(), ("None",), ("ValidationError",), ("TransactionConflict", "ValidationError")])
def test_a_canceled_transaction_without_a_known_reason_is_an_internal_error(reasons: tuple[str, ...]) -> None:
    assert isinstance(canceled(*reasons).as_keyfence_error(), Internal)
    assert not canceled(*reasons).rule.is_retryable
