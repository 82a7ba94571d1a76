"""What STS and IAM do not do, with their codes and their words."""

from keyfence_iam.gate.answer import Answer
from keyfence_iam.gate.query.xml import STS, failure


class Declined(Exception):
    """An error of STS or IAM, as its XML will say it."""

    def __init__(self, code: str, message: str, status: int = 400, *, namespace: str | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status
        self._namespace = namespace

    def answer(self, namespace: str = STS) -> Answer:
        return failure(self.code, self.message, self.status, namespace=self._namespace or namespace)


def invalid(message: str) -> Declined:
    return Declined("ValidationError", message)


def not_authorized(caller: str, action: str, resource: str, reason: str = "") -> Declined:
    message = f"User: {caller} is not authorized to perform: {action} on resource: {resource}{reason}"
    return Declined("AccessDenied", message, 403)
