"""Requests that are not believed, in AWS's words: DynamoDB's JSON has other codes for them than the XML of the rest."""

from dataclasses import dataclass

from keyfence_iam.gate.answer import Answer, error
from keyfence_iam.gate.query.xml import IAM, STS, failure


@dataclass(frozen=True, slots=True)
class Kind:
    """One way of not being believed, as each protocol calls it; DynamoDB's status is always 400."""

    dynamodb: str
    query: str
    query_status: int


MISSING = Kind("MissingAuthenticationTokenException", "MissingAuthenticationToken", 403)
INCOMPLETE = Kind("IncompleteSignatureException", "IncompleteSignature", 400)
BAD_SIGNATURE = Kind("InvalidSignatureException", "SignatureDoesNotMatch", 403)
UNKNOWN = Kind("UnrecognizedClientException", "InvalidClientTokenId", 403)
EXPIRED = Kind("ExpiredTokenException", "ExpiredToken", 403)


NAMESPACES = {"sts": STS, "iam": IAM}


class NotBelieved(Exception):
    """A request whose sender is not known, or that is not as its sender sent it."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(f"{kind.dynamodb}: {message}")
        self.kind = kind
        self.message = message

    def answer(self, service: str) -> Answer:
        if namespace := NAMESPACES.get(service):
            return failure(self.kind.query, self.message, self.kind.query_status, namespace=namespace)
        return error(self.kind.dynamodb, self.message)
