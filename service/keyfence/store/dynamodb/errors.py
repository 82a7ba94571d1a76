"""What DynamoDB's refusals mean to us: the one table from AWS error codes to our errors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from keyfence.errors import Conflict, Forbidden, Internal, KeyfenceError, Throttled

RETRY_AFTER_MS = 200


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """The error that a code becomes, and whether the same call may succeed when made again."""

    error: Callable[[str], KeyfenceError]
    retryable: bool = False
    new_session_may_help: bool = False
    """Whether another session might not be refused: this one may have been revoked, or have ended."""


class DynamoDbError(Exception):
    """An AWS error code with its message, as the client port raises it."""

    def __init__(self, code: str, message: str, reasons: tuple[str, ...] = (), consumed: object = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.cancellation_reasons = reasons
        """For a cancelled transaction: one code per item, 'None' where the item was not at fault."""
        self.consumed_capacity = consumed
        """What the call consumed all the same, where the answer says so."""

    @property
    def rule(self) -> ErrorRule:
        if self.code == "TransactionCanceledException":
            return _canceled(self.cancellation_reasons)
        return ERROR_RULES.get(self.code, UNKNOWN_ERROR)

    def as_keyfence_error(self) -> KeyfenceError:
        return self.rule.error(str(self))


def _throttled(_text: str) -> KeyfenceError:
    return Throttled("the table is too busy just now; retry shortly", retryAfterMs=RETRY_AFTER_MS)


def _contended(_text: str) -> KeyfenceError:
    return Throttled("others are changing the same thing just now; retry shortly", retryAfterMs=RETRY_AFTER_MS)


def _conflict(_text: str) -> KeyfenceError:
    return Conflict("the thing is no longer in the state that this change needs")


def _denied(_text: str) -> KeyfenceError:
    return Forbidden("this tenant's credentials do not allow that")


UNKNOWN_ERROR = ErrorRule(Internal)
THROTTLING = ErrorRule(_throttled, retryable=True)
CONTENTION = ErrorRule(_contended, retryable=True)
SERVICE_FAILURE = ErrorRule(Internal, retryable=True)

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
    """A failed condition decides, since it would fail again; otherwise what can be retried is."""
    meanings = [CANCELLATION_RULES.get(reason, UNKNOWN_ERROR) for reason in reasons if reason != "None"]
    final = [meaning for meaning in meanings if not meaning.retryable]
    return (final or meanings or [UNKNOWN_ERROR])[0]
