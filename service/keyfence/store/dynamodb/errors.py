"""What DynamoDB's refusals mean to us: the one table from AWS error codes to our errors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from keyfence.errors import Conflict, Forbidden, Internal, KeyfenceError, Throttled

RETRY_AFTER_MS = 200


@dataclass(frozen=True, slots=True)
class Meaning:
    """The error that a code becomes, and whether the same call may succeed when made again."""

    error: Callable[[str], KeyfenceError]
    retry: bool = False
    of_session: bool = False
    """Whether another session might not be refused: this one may have been revoked, or have ended."""


class Refused(Exception):
    """An AWS error code with its message, as the client port raises it."""

    def __init__(self, code: str, message: str, reasons: tuple[str, ...] = (), consumed: object = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.reasons = reasons
        """For a cancelled transaction: one code per item, 'None' where the item was not at fault."""
        self.consumed = consumed
        """What the call consumed all the same, where the answer says so."""

    @property
    def meaning(self) -> Meaning:
        if self.code == "TransactionCanceledException":
            return _canceled(self.reasons)
        return MEANINGS.get(self.code, UNKNOWN)

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


UNKNOWN = Meaning(Internal)
BUSY = Meaning(_throttled, retry=True)
CONTENDED = Meaning(_contended, retry=True)
BROKEN = Meaning(Internal, retry=True)

MEANINGS: Mapping[str, Meaning] = {
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
    "ConditionalCheckFailedException": Meaning(_conflict),
    "AccessDeniedException": Meaning(_denied, of_session=True),
    "ExpiredTokenException": Meaning(Internal, of_session=True),
    "UnrecognizedClientException": Meaning(Internal, of_session=True),
    "InvalidSignatureException": Meaning(Internal),
    "ResourceNotFoundException": Meaning(Internal),
    "ValidationException": Meaning(Internal),
    "IdempotentParameterMismatchException": Meaning(Internal),
}

REASONS: Mapping[str, Meaning] = {
    "ConditionalCheckFailed": Meaning(_conflict),
    "TransactionConflict": CONTENDED,
    "ThrottlingError": BUSY,
    "ProvisionedThroughputExceeded": BUSY,
}


def _canceled(reasons: tuple[str, ...]) -> Meaning:
    """A failed condition decides, since it would fail again; otherwise what can be retried is."""
    meanings = [REASONS.get(reason, UNKNOWN) for reason in reasons if reason != "None"]
    final = [meaning for meaning in meanings if not meaning.retry]
    return (final or meanings or [UNKNOWN])[0]
