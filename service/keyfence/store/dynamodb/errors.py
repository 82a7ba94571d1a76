"""What DynamoDB's refusals mean to us: the one table from AWS error codes to our errors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from keyfence.errors import Conflict, Forbidden, Internal, KeyfenceError, Throttled

RETRY_AFTER_MS = 200


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """The error that a code becomes, and whether the same call may succeed when made again."""

    error: Callable[[str], KeyfenceError]
    retry: bool = False
    of_session: bool = False
    """Whether another session might not be refused: this one may have been revoked, or have ended."""


class DynamoDbError(Exception):
    """An AWS error code with its message, as the client port raises it."""

    def __init__(self, code: str, message: str, reasons: tuple[str, ...] = (), consumed: object = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.reasons = reasons
        """For a cancelled transaction: one code per item, 'None' where the item was not at fault."""
        self.consumed = consumed
        """What the call consumed all the same, where the answer says so."""

    @property
    def meaning(self) -> ErrorRule:
        if self.code == "TransactionCanceledException":
            return _canceled(self.reasons)
        return ERROR_RULES.get(self.code, UNKNOWN)

    def error(self) -> KeyfenceError:
        return self.meaning.error(str(self))


def _throttled(_text: str) -> KeyfenceError:
    return Throttled("the table is too busy just now; retry shortly", retryAfterMs=RETRY_AFTER_MS)


def _contended(_text: str) -> KeyfenceError:
    return Throttled("others are changing the same thing just now; retry shortly", retryAfterMs=RETRY_AFTER_MS)


def _conflict(_text: str) -> KeyfenceError:
    return Conflict("the thing is no longer in the state that this change needs")


def _denied(_text: str) -> KeyfenceError:
    return Forbidden("this tenant's credentials do not allow that")


UNKNOWN = ErrorRule(Internal)
BUSY = ErrorRule(_throttled, retry=True)
CONTENDED = ErrorRule(_contended, retry=True)
BROKEN = ErrorRule(Internal, retry=True)

ERROR_RULES: Mapping[str, ErrorRule] = {
    "ProvisionedThroughputExceededException": BUSY,
    "ThrottlingException": BUSY,
    "ThrottlingError": BUSY,
    "RequestLimitExceeded": BUSY,
    "TransactionConflictException": CONTENDED,
    "TransactionInProgressException": CONTENDED,
    "ReplicatedWriteConflictException": CONTENDED,
    "InternalServerError": BROKEN,
    "InternalFailure": BROKEN,
    "ServiceUnavailable": BROKEN,
    "ServiceUnavailableException": BROKEN,
    "ConnectionLost": BROKEN,
    "ConditionalCheckFailedException": ErrorRule(_conflict),
    "AccessDeniedException": ErrorRule(_denied, of_session=True),
    "ExpiredTokenException": ErrorRule(Internal, of_session=True),
    "UnrecognizedClientException": ErrorRule(Internal, of_session=True),
    "InvalidSignatureException": ErrorRule(Internal),
    "ResourceNotFoundException": ErrorRule(Internal),
    "ValidationException": ErrorRule(Internal),
    "IdempotentParameterMismatchException": ErrorRule(Internal),
}

REASONS: Mapping[str, ErrorRule] = {
    "ConditionalCheckFailed": ErrorRule(_conflict),
    "TransactionConflict": CONTENDED,
    "ThrottlingError": BUSY,
    "ProvisionedThroughputExceeded": BUSY,
}


def _canceled(reasons: tuple[str, ...]) -> ErrorRule:
    """A failed condition decides, since it would fail again; otherwise what can be retried is."""
    meanings = [REASONS.get(reason, UNKNOWN) for reason in reasons if reason != "None"]
    final = [meaning for meaning in meanings if not meaning.retry]
    return (final or meanings or [UNKNOWN])[0]
