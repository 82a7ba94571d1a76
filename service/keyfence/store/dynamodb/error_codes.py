"""The table from AWS error codes to Keyfence's errors, and which errors are worth a retry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from keyfence.errors import Conflict, Forbidden, Internal, KeyfenceError, Throttled

RETRY_AFTER_MS = 200


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """The meaning of an AWS error code: the error to raise, and whether the same call may succeed if it is repeated."""

    error: Callable[[str], KeyfenceError]
    is_retryable: bool = False
    new_session_may_help: bool = False
    """Whether the call may succeed in another session: this one may be revoked or expired."""


class DynamoDbError(Exception):
    """An error that DynamoDB returned: its code and its message."""

    def __init__(self, code: str, message: str, reasons: tuple[str, ...] = (), consumed: object = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.cancellation_reasons = reasons
        """For a canceled transaction: one code for each item, 'None' (a text) if the item was not the reason."""
        self.consumed_capacity = consumed
        """What the call consumed although it failed, if the answer says so."""

    @property
    def rule(self) -> ErrorRule:
        if self.code == "TransactionCanceledException":
            return _canceled(self.cancellation_reasons)
        return ERROR_RULES.get(self.code, UNKNOWN_ERROR)

    def as_keyfence_error(self) -> KeyfenceError:
        return self.rule.error(str(self))


def _throttled(_text: str) -> KeyfenceError:
    return Throttled("the table is too busy at the moment; retry shortly", retryAfterMs=RETRY_AFTER_MS)


def _contended(_text: str) -> KeyfenceError:
    return Throttled("others are changing the same items at the moment; retry shortly", retryAfterMs=RETRY_AFTER_MS)


def _conflict(_text: str) -> KeyfenceError:
    return Conflict("the item is no longer in the state that this change needs")


def _denied(_text: str) -> KeyfenceError:
    return Forbidden("this tenant's credentials do not allow this")


UNKNOWN_ERROR = ErrorRule(Internal)
THROTTLING = ErrorRule(_throttled, is_retryable=True)
CONTENTION = ErrorRule(_contended, is_retryable=True)
SERVICE_FAILURE = ErrorRule(Internal, is_retryable=True)

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
    "ConditionalCheckFailedException": ErrorRule(_conflict),
    "AccessDeniedException": ErrorRule(_denied, new_session_may_help=True),
    "ExpiredTokenException": ErrorRule(Internal, new_session_may_help=True),
    "UnrecognizedClientException": ErrorRule(Internal, new_session_may_help=True),
    "InvalidSignatureException": ErrorRule(Internal),
    "ResourceNotFoundException": ErrorRule(Internal),
    "ValidationException": ErrorRule(Internal),
    "IdempotentParameterMismatchException": ErrorRule(Internal),
}

CANCELLATION_RULES: Mapping[str, ErrorRule] = {
    "ConditionalCheckFailed": ErrorRule(_conflict),
    "TransactionConflict": CONTENTION,
    "ThrottlingError": THROTTLING,
    "ProvisionedThroughputExceeded": THROTTLING,
}


def _canceled(reasons: tuple[str, ...]) -> ErrorRule:
    """Returns the rule of the first reason that is not retryable: it would fail again. Otherwise the first rule."""
    rules = [CANCELLATION_RULES.get(reason, UNKNOWN_ERROR) for reason in reasons if reason != "None"]
    final = [rule for rule in rules if not rule.is_retryable]
    return (final or rules or [UNKNOWN_ERROR])[0]
