"""Runs the tests for a real AWS account against the gate, so that a fault in these tests is found without AWS."""

import os
import re
import subprocess
import sys

import pytest

from keyfence.local import gate_access
from keyfence_iam.credentials import Credentials
from tests.stack import ServiceStack


@pytest.mark.one_engine
def test_the_gate_passes_the_tests_for_a_real_account(stack: ServiceStack) -> None:
    service_credentials = gate_access.role_session(stack.gate.session_issuer, "service-base").credentials
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "tests/aws/test_aws_behavior.py"],
        env={**os.environ, **_environment(stack, service_credentials)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout[-5000:]
    assert not re.search("skipped|deselected", finished.stdout)


def _environment(stack: ServiceStack, service_credentials: Credentials) -> dict[str, str]:
    return {
        "KEYFENCE_TEST_TABLE": stack.tables.name,
        "KEYFENCE_TEST_ROLES": stack.gate.account.role_arn_prefix,
        "AWS_ENDPOINT_URL": stack.gate.url,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": service_credentials.access_key,
        "AWS_SECRET_ACCESS_KEY": service_credentials.secret_key,
        "AWS_SESSION_TOKEN": service_credentials.token or "",
    }
