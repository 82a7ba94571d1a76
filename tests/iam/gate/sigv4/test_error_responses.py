"""botocore can parse the error responses of each service."""

import json

import pytest
from botocore.parsers import create_parser
from botocore.session import get_session

from keyfence_iam.gate.sigv4 import SignatureError
from keyfence_iam.gate.sigv4.authorization_header import (
    BAD_SIGNATURE,
    EXPIRED_SESSION,
    INCOMPLETE_SIGNATURE,
    MISSING_TOKEN,
    UNKNOWN_SESSION,
    SignatureErrorCode,
)

CODES = {
    "missing": (MISSING_TOKEN, 403),
    "incomplete": (INCOMPLETE_SIGNATURE, 400),
    "signature": (BAD_SIGNATURE, 403),
    "unknown": (UNKNOWN_SESSION, 403),
    "expired": (EXPIRED_SESSION, 403),
}


@pytest.mark.parametrize(("code", "status"), CODES.values(), ids=list(CODES))
def test_sts_errors_are_xml(code: SignatureErrorCode, status: int) -> None:
    answer = SignatureError(code, "text <&> \x00").response("sts")
    shape = get_session().get_service_model("sts").operation_model("AssumeRole").output_shape
    assert shape is not None
    headers = {name.decode(): value.decode() for name, value in answer.headers}
    parsed = create_parser("query").parse(
        {"body": answer.body, "headers": headers, "status_code": answer.status}, shape
    )
    assert answer.status == status
    assert parsed["Error"] == {"Type": "Sender", "Code": code.query_protocol, "Message": "text <&> \ufffd"}


@pytest.mark.parametrize(("code", "_"), CODES.values(), ids=list(CODES))
def test_dynamodb_errors_are_json(code: SignatureErrorCode, _: int) -> None:
    answer = SignatureError(code, "text").response("dynamodb")
    body = json.loads(answer.body)
    assert (answer.status, body["__type"]) == (400, f"com.amazon.coral.service#{code.dynamodb}")
    assert "text" in body.values()
