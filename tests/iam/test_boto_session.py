"""boto3 sessions with different credentials share what botocore has read from its files."""

from typing import Any

import pytest
from botocore.loaders import JSONFileLoader

from keyfence_iam.boto_session import boto_session_with
from keyfence_iam.credentials import Credentials

SERVICES = ("dynamodb", "iam", "sts")


@pytest.fixture
def read_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that botocore reads during the test."""
    paths: list[str] = []
    load_file = JSONFileLoader.load_file

    def record_and_load(self: JSONFileLoader, file_path: str) -> Any:
        paths.append(file_path)
        return load_file(self, file_path)

    monkeypatch.setattr(JSONFileLoader, "load_file", record_and_load)
    return paths


def new_client(service: str, access_key: str) -> Any:
    session: Any = boto_session_with(Credentials(access_key, "secret"))
    return session.client(service, region_name="eu-west-1")


def signing_key(client: Any) -> str:
    return str(client._request_signer._credentials.access_key)


def test_a_second_session_reads_no_file_and_signs_with_its_own_key(read_files: list[str]) -> None:
    first_clients = [new_client(service, "AKIAFIRST") for service in SERVICES]
    read_files.clear()
    second_clients = [new_client(service, "AKIASECOND") for service in SERVICES]
    assert read_files == []
    assert {signing_key(client) for client in first_clients} == {"AKIAFIRST"}
    assert {signing_key(client) for client in second_clients} == {"AKIASECOND"}


def test_another_data_path_has_its_own_files(read_files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    new_client("sts", "AKIAFIRST")
    read_files.clear()
    monkeypatch.setenv("AWS_DATA_PATH", "/nowhere")
    new_client("sts", "AKIAFIRST")
    assert [path for path in read_files if "endpoints" in path]
