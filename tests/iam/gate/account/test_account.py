"""An account is read from a directory of policy files, and a gate enforces roles that are not Keyfence's."""

import asyncio
import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from keyfence_iam.deployment import Deployment
from keyfence_iam.gate import Account, Gate
from keyfence_iam.gate.account.account import NoSuchRole
from keyfence_iam.gate.account.session import IssuedSession
from keyfence_iam.gate.http.query_protocol import STS_OPERATIONS
from keyfence_iam.gate.sts_api import _OPERATION_HANDLERS
from keyfence_iam.policy import InvalidPolicy
from keyfence_iam.roles import ROLES
from keyfence_iam.roles.policy_files import policy_files
from tests.iam.gate.server.scripted_engine import start_engine, table_responses

ACCOUNT, REGION = "123456789012", "eu-west-1"
ORDERS_ARN = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/orders"
TABLE: dict[str, object] = {
    "KeySchema": [{"AttributeName": "customer", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "customer", "AttributeType": "S"}],
}


def policy(**statement: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", **statement}})


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A role that reads the orders of the customer in its session tag."""
    condition = {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": "C#${aws:PrincipalTag/customer}#*"},
        "Null": {"dynamodb:LeadingKeys": "false"},
    }
    account_root = {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}
    files = {
        "shop.json": policy(Action=["sts:AssumeRole", "sts:TagSession"], Resource="*"),
        "shop.trust.json": policy(Principal=account_root, Action="sts:AssumeRole"),
        "customer.v1.json": policy(Action="dynamodb:GetItem", Resource=ORDERS_ARN, Condition=condition),
        "customer.v1.trust.json": policy(Principal=account_root, Action=["sts:AssumeRole", "sts:TagSession"]),
        "customer.v1.boundary.json": policy(Action="dynamodb:*", Resource="*"),
        "README.md": "not a policy",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def read_account(directory: Path) -> Account:
    return Account.from_directory(directory, account_id=ACCOUNT, region=REGION)


def client(service: str, gate: Gate, issued: IssuedSession | dict[str, str]) -> Any:
    keys = (
        (issued["AccessKeyId"], issued["SecretAccessKey"], issued["SessionToken"])
        if isinstance(issued, dict)
        else (issued.credentials.access_key, issued.credentials.secret_key, issued.credentials.token)
    )
    config = Config(retries={"total_max_attempts": 1}, proxies={})
    session: Any = boto3.Session(*keys)
    return session.client(service, region_name=REGION, endpoint_url=gate.url, config=config)


def test_each_role_in_a_directory_has_the_policies_of_its_files(directory: Path) -> None:
    account = read_account(directory)
    assert set(account.roles) == {"shop", "customer.v1"}
    customer = account.get_role("customer.v1")
    assert customer.arn == f"arn:aws:iam::{ACCOUNT}:role/customer.v1"
    assert (len(customer.deployed_policies), len(customer.boundary or ())) == (1, 1)
    assert customer.boundary_arn == f"arn:aws:iam::{ACCOUNT}:policy/customer.v1-boundary"
    assert account.get_role("shop").boundary is None


def test_rendered_policies_make_the_same_account_as_the_definitions(tmp_path: Path) -> None:
    deployment = Deployment()
    for name, text in policy_files(deployment).items():
        (tmp_path / name).write_text(text)
    rendered = Account.from_directory(
        tmp_path, account_id=deployment.account, region=deployment.region, role_prefix=deployment.role_prefix
    )
    assert rendered == Account.from_definitions(ROLES, deployment)


def test_the_error_for_a_missing_trust_policy_names_the_file(directory: Path) -> None:
    (directory / "customer.v1.trust.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"customer\.v1\.trust\.json"):
        read_account(directory)


def test_the_error_for_a_file_without_a_policy_names_the_file(directory: Path) -> None:
    (directory / "shop.json").write_text('{"Version": "2012-10-17", "Statement": {"Effect": "Maybe"}}')
    with pytest.raises(InvalidPolicy, match=r"shop\.json"):
        read_account(directory)


def test_the_error_for_an_unknown_role_lists_the_existing_roles(directory: Path) -> None:
    with pytest.raises(NoSuchRole, match=r"'custommer'; its roles are customer\.v1, shop"):
        read_account(directory).get_role("custommer")


async def test_a_gate_enforces_roles_and_tables_that_are_not_of_keyfence(directory: Path) -> None:
    async with start_engine(table_responses(TABLE)) as (_, url):
        with Gate.start(engine_url=url, account=read_account(directory)) as gate:
            shop = gate.session_issuer.issue_service_session("shop")
            assumed = await asyncio.to_thread(
                client("sts", gate, shop).assume_role,
                RoleArn=gate.account.get_role("customer.v1").arn,
                RoleSessionName="acme",
                Tags=[{"Key": "customer", "Value": "acme"}],
            )
            orders = client("dynamodb", gate, assumed["Credentials"])
            await asyncio.to_thread(orders.get_item, TableName="orders", Key={"customer": {"S": "C#acme#1"}})
            for key in ("C#acmecorp#1", "C#globex#1"):
                with pytest.raises(ClientError, match="AccessDeniedException"):
                    await asyncio.to_thread(orders.get_item, TableName="orders", Key={"customer": {"S": key}})
            with pytest.raises(ClientError, match="AccessDeniedException"):
                await asyncio.to_thread(orders.scan, TableName="orders")
    assert [denial.operation for denial in gate.denials] == ["GetItem", "GetItem", "Scan"]


def test_sts_operations_are_exactly_those_that_the_gate_answers() -> None:
    assert _OPERATION_HANDLERS.keys() == STS_OPERATIONS
