"""The mapping from AWS error codes to Keyfence's errors, and which codes are retried."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from keyfence.errors import Conflict, Forbidden, Internal, KeyfenceError, Throttled

RETRY_AFTER_MS = 200
"""How long a client should wait before it repeats a throttled request. A short burst of calls is over by then."""


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """The meaning of an AWS error code."""

    make_error: Callable[[str], KeyfenceError]
    """Returns the error that the service raises, from the text of the AWS error."""
    is_retryable: bool = False
    """Whether the same call may succeed when it is repeated."""
    new_session_may_help: bool = False
    """Whether the call may succeed with a newer session, because the current one may be revoked or expired."""


class DynamoDbError(Exception):
    """An error of a DynamoDB call, with the AWS error code. Codes of this client are "ConnectionLost" (no complete
    answer), "Unreadable" (the answer is too large or not JSON) and "Unknown" (the answer has no code)."""

    def __init__(self, code: str, message: str, reasons: tuple[str, ...] = (), consumed: object = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.cancellation_reasons = reasons
        """One code for each action of a canceled transaction. An action that is not the reason has the code 'None'."""
        self.consumed_capacity = consumed
        """The ConsumedCapacity of the failed call, or None if the answer has none."""

    @property
    def rule(self) -> ErrorRule:
        """The meaning of the error's code, or of the cancellation reasons."""
        if self.code == "TransactionCanceledException":
            return _cancellation_rule(self.cancellation_reasons)
        return ERROR_RULES.get(self.code, UNKNOWN_ERROR)

    def as_keyfence_error(self) -> KeyfenceError:
        return self.rule.make_error(str(self))


def _throttled_error(_text: str) -> KeyfenceError:
    return Throttled("the table is too busy at the moment; retry shortly", retryAfterMs=RETRY_AFTER_MS)


def _contention_error(_text: str) -> KeyfenceError:
    return Throttled("other requests are changing the same items; retry shortly", retryAfterMs=RETRY_AFTER_MS)


def _conflict_error(_text: str) -> KeyfenceError:
    return Conflict("the item is no longer in the state that this change needs")


def _denied_error(_text: str) -> KeyfenceError:
    return Forbidden("this tenant's credentials do not allow this")


UNKNOWN_ERROR = ErrorRule(Internal)
"""The rule for error codes that are not listed below."""
THROTTLING = ErrorRule(_throttled_error, is_retryable=True)
"""The table or a partition has too many calls."""
CONTENTION = ErrorRule(_contention_error, is_retryable=True)
"""Another transaction writes the same items."""
SERVICE_FAILURE = ErrorRule(Internal, is_retryable=True)
"""DynamoDB failed or could not be reached."""

ERROR_RULES: Mapping[str, ErrorRule] = {
    "ProvisionedThroughputExceededException": THROTTLING,
    "ThrottlingException": THROTTLING,
    "ThrottlingError": THROTTLING,
    "RequestLimitExceeded": THROTTLING,
    "TransactionConflictException": CONTENTION,
    "TransactionInProgressException": CONTENTION,
    "ReplicatedWriteConflictException": CONTENTION,
    "InternalServerError": SERVICE_FAILURE,
    "InternalFailure": SERVICE_FAILURE,
    "ServiceUnavailable": SERVICE_FAILURE,
    "ServiceUnavailableException": SERVICE_FAILURE,
    "ConnectionLost": SERVICE_FAILURE,
    "ConditionalCheckFailedException": ErrorRule(_conflict_error),
    "AccessDeniedException": ErrorRule(_denied_error, new_session_may_help=True),
    "ExpiredTokenException": ErrorRule(Internal, new_session_may_help=True),
    "UnrecognizedClientException": ErrorRule(Internal, new_session_may_help=True),
    "InvalidSignatureException": ErrorRule(Internal),
    "ResourceNotFoundException": ErrorRule(Internal),
    "ValidationException": ErrorRule(Internal),
    "IdempotentParameterMismatchException": ErrorRule(Internal),
}

CANCELLATION_RULES: Mapping[str, ErrorRule] = {
    "ConditionalCheckFailed": ErrorRule(_conflict_error),
    "TransactionConflict": CONTENTION,
    "ThrottlingError": THROTTLING,
    "ProvisionedThroughputExceeded": THROTTLING,
}
"""The meaning of the codes in the CancellationReasons of a TransactionCanceledException."""


def _cancellation_rule(reasons: tuple[str, ...]) -> ErrorRule:
    """Returns the rule of the first reason that is not retryable, because a repeated transaction would fail again. If
    all reasons are retryable, returns the rule of the first reason."""
    rules = [CANCELLATION_RULES.get(reason, UNKNOWN_ERROR) for reason in reasons if reason != "None"]
    final_rules = [rule for rule in rules if not rule.is_retryable]
    return (final_rules or rules or [UNKNOWN_ERROR])[0]
