"""Inline policies survive a restart of the gate, completely or not at all."""

import json
from pathlib import Path

import pytest

from keyfence.local import gate_access
from keyfence.local.saved_role_policies import POLICIES_FILE, PoliciesUnusable, load, save
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles import ROLES
from keyfence_iam.suspension import SuspensionFailed, TenantSuspension
from keyfence_iam.tenant import TenantId

ACCOUNT = Account.from_definitions(ROLES, Deployment())
DENY = '{"Version": "2012-10-17", "Statement": {"Effect": "Deny", "Action": "*", "Resource": "*"}}'
SAVED = {"keyfence-tenant-read": {"one": DENY}}


def start_gate(directory: Path) -> Gate:
    return Gate.start(
        engine_url="http://127.0.0.1:1",
        account=load(directory, ACCOUNT),
        key=b"k" * 32,
        save_role_policies=lambda policies: save(directory, policies),
    )


def suspender(gate: Gate) -> TenantSuspension:
    credentials = gate_access.role_session(gate.session_issuer, "suspender").credentials
    return TenantSuspension.connect(credentials, "keyfence-", endpoint_url=gate.url)


def test_without_a_file_the_account_has_no_inline_policies(tmp_path: Path) -> None:
    assert load(tmp_path, ACCOUNT) is ACCOUNT


def test_the_next_gate_enforces_the_policies_that_the_last_gate_saved(tmp_path: Path) -> None:
    with start_gate(tmp_path) as gate:
        suspender(gate).deny([TenantId("acme")])
    with start_gate(tmp_path) as gate:
        assert suspender(gate).denied_tenants() == {"acme"}
        suspender(gate).deny([])
    with start_gate(tmp_path) as gate:
        assert gate.account.inline_policies == {}


def test_only_the_owner_can_read_the_file_and_no_temporary_file_is_left(tmp_path: Path) -> None:
    save(tmp_path, SAVED)
    save(tmp_path, {})
    save(tmp_path, SAVED)
    (file,) = tmp_path.iterdir()
    assert (file.name, file.stat().st_mode & 0o777) == (POLICIES_FILE, 0o600)
    assert load(tmp_path, ACCOUNT).inline_policies == SAVED


def test_policies_that_cannot_be_saved_are_refused_and_the_old_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disk_full(_: int) -> None:
        raise OSError("the disk is full")

    save(tmp_path, SAVED)
    with start_gate(tmp_path) as gate:
        monkeypatch.setattr("os.fsync", disk_full)
        with pytest.raises(SuspensionFailed, match="the disk is full"):
            suspender(gate).deny([TenantId("acme")])
        assert gate.account.inline_policies == SAVED
    assert [file.name for file in tmp_path.iterdir()] == [POLICIES_FILE]
    assert load(tmp_path, ACCOUNT).inline_policies == SAVED


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"keyfence-tenant-read": "one"}', '{"keyfence-tenant-read": {"one": 1}}'],
    ids=["empty", "half", "a list", "no names", "a number"],
)
def test_a_file_with_another_structure_raises(tmp_path: Path, content: str) -> None:
    (tmp_path / POLICIES_FILE).write_text(content)
    with pytest.raises(PoliciesUnusable, match=f"The policies in {tmp_path / POLICIES_FILE} cannot be used: "):
        load(tmp_path, ACCOUNT)


def test_a_policy_that_cannot_be_parsed_raises(tmp_path: Path) -> None:
    (tmp_path / POLICIES_FILE).write_text(
        json.dumps({"keyfence-tenant-read": {"one": DENY.replace("Deny", "Perhaps")}})
    )
    with pytest.raises(PoliciesUnusable, match="neither Allow nor Deny"):
        load(tmp_path, ACCOUNT)
