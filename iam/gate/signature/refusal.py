"""Requests that are not believed, in the words of AWS: DynamoDB's JSON has other codes for them than the XML of STS."""

from dataclasses import dataclass

from iam.gate.answer import Answer, error
from iam.gate.sts.xml import failure


@dataclass(frozen=True, slots=True)
class Kind:
    """One way of not being believed, as each service calls it; DynamoDB's status is always 400."""

    dynamodb: str
    sts: str
    sts_status: int


MISSING = Kind("MissingAuthenticationTokenException", "MissingAuthenticationToken", 403)
INCOMPLETE = Kind("IncompleteSignatureException", "IncompleteSignature", 400)
BAD_SIGNATURE = Kind("InvalidSignatureException", "SignatureDoesNotMatch", 403)
UNKNOWN = Kind("UnrecognizedClientException", "InvalidClientTokenId", 403)
EXPIRED = Kind("ExpiredTokenException", "ExpiredToken", 403)


class NotBelieved(Exception):
    """A request whose sender is not known, or that is not as its sender sent it."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(f"{kind.dynamodb}: {message}")
        self.kind = kind
        self.message = message

    def answer(self, service: str) -> Answer:
        if service == "sts":
            return failure(self.kind.sts, self.message, self.kind.sts_status)
        return error(self.kind.dynamodb, self.message)
