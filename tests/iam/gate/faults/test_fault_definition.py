"""Faults are parsed strictly, and each error names its JSON path."""

from typing import Any

import pytest

from keyfence_iam.gate.fault_definition import Fault, InvalidFault, parse_faults, parse_faults_json


def test_every_kind_of_fault_is_parsed() -> None:
    assert parse_faults(
        [
            {"kind": "latency", "milliseconds": 50, "operation": "Query", "probability": 0.5, "seed": 7},
            {"kind": "error", "nth": 3, "code": "ServiceUnavailable", "status": 503, "message": "later"},
            {"kind": "throttle", "every": 2, "key_prefix": "TENANT#acme#", "times": 4},
            {"kind": "lost_request", "service": "sts"},
            {"kind": "lost_response", "operation": "PutItem"},
        ]
    ) == (
        Fault(kind="latency", milliseconds=50, operation="Query", probability=0.5, seed=7),
        Fault(kind="error", nth=3, code="ServiceUnavailable", status=503, message="later"),
        Fault(kind="throttle", every=2, key_prefix="TENANT#acme#", times=4),
        Fault(kind="lost_request", service="sts"),
        Fault(kind="lost_response", operation="PutItem"),
    )


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "faults: must be a list"),
        ([[]], "faults[0]: must be an object"),
        ([{}], "faults[0].kind: is missing"),
        ([{"kind": "error"}, {"kind": "flood"}], "faults[1].kind: must be one of latency, error"),
        ([{"kind": "error", "nht": 3}], "faults[0].nht: is unknown; the members of a fault are kind"),
        ([{"kind": ["error"]}], "faults[0].kind: must be one of"),
        ([{"kind": "error", "service": "s3"}], "faults[0].service: must be one of dynamodb, sts"),
        ([{"kind": "error", "operation": ""}], "faults[0].operation: must be the name of an operation"),
        (
            [{"kind": "error", "operation": "getItem"}],
            "faults[0].operation: the gate does not support the operation getItem of dynamodb",
        ),
        (
            [{"kind": "error", "operation": "AssumeRole"}],
            "faults[0].operation: the gate does not support the operation AssumeRole of dynamodb",
        ),
        (
            [{"kind": "error", "operation": "GetItem", "service": "sts"}],
            "faults[0].operation: the gate does not support the operation GetItem of sts",
        ),
        ([{"kind": "error", "nth": 0}], "faults[0].nth: must be a whole number from 1"),
        ([{"kind": "error", "nth": True}], "faults[0].nth: must be a whole number from 1"),
        ([{"kind": "error", "every": 1.5}], "faults[0].every: must be a whole number from 1"),
        ([{"kind": "error", "times": -1}], "faults[0].times: must be a whole number from 1"),
        ([{"kind": "error", "probability": 1.1}], "faults[0].probability: must be a number from 0 to 1"),
        ([{"kind": "error", "probability": "often"}], "faults[0].probability: must be a number from 0 to 1"),
        ([{"kind": "error", "status": 200}], "faults[0].status: must be an HTTP status from 400 to 599"),
        ([{"kind": "error", "nth": 1, "every": 2}], "faults[0]: has more than one of nth, every and probability"),
        ([{"kind": "error", "seed": 2}], "faults[0].seed: has no meaning without a probability"),
        ([{"kind": "error", "milliseconds": 2}], "faults[0].milliseconds: has no meaning for the kind error"),
        ([{"kind": "lost_response", "code": "X"}], "faults[0].code: has no meaning for the kind lost_response"),
        ([{"kind": "latency"}], "faults[0].milliseconds: is missing"),
        ([{"kind": "latency", "milliseconds": float("inf")}], "faults[0].milliseconds: must be a number"),
        ([{"kind": "error", "service": "sts", "key_prefix": "A"}], "faults[0].key_prefix: has no meaning"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_error_for_an_invalid_fault_begins_with_its_json_path(document: Any, message: str) -> None:
    with pytest.raises(InvalidFault) as error:
        parse_faults(document)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("service", "operation"),
    [("dynamodb", "*"), ("sts", "*"), ("sts", "AssumeRole"), ("dynamodb", "ExecuteStatement"), ("dynamodb", "Scan")],
)
def test_an_operation_of_the_service_is_accepted(service: str, operation: str) -> None:
    (fault,) = parse_faults([{"kind": "error", "service": service, "operation": operation}])
    assert (fault.service, fault.operation) == (service, operation)


def test_a_json_text_is_parsed() -> None:
    assert parse_faults_json(b'[{"kind": "error", "nth": 2}]') == (Fault(kind="error", nth=2),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[", "not JSON: "),
        (b"\xff", "not JSON: "),
        (b"[" * 100_000, "not JSON: "),
        (b'[{"kind": "error", "nth": 1, "nth": 2}]', "the key 'nth' occurs twice in one object"),
        (b'[{"kind": "latency", "milliseconds": NaN}]', "not JSON: NaN"),
    ],
    ids=["half a list", "not UTF-8", "too deep", "a repeated name", "not a number"],
)
def test_an_ambiguous_or_invalid_json_text_is_rejected(text: bytes, message: str) -> None:
    with pytest.raises(InvalidFault) as error:
        parse_faults_json(text)
    assert str(error.value).startswith(message)
