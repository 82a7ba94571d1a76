"""Starts a gate on a data directory, with the roles that Keyfence needs."""

import socket
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from keyfence.local import saved_role_policies
from keyfence.local.data_directory import GateRecord, gate_key, save_gate_record
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.denials import OnDenied, ignore_denial
from keyfence_iam.gate.fault_definition import Fault
from keyfence_iam.gate.gate import Gate
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.roles import ROLES
from keyfence_iam.roles.names import PROVISIONER
from keyfence_iam.tenant import session_key_prefix


def start_gate(
    directory: Path,
    deployment: Deployment,
    *,
    engine_url: str,
    listener: socket.socket,
    server_url: str | None = None,
    limits: PartitionLimits | None = None,
    saves_policies: bool = True,
    checks_index_keys: bool = False,
    faults: Iterable[Fault] = (),
    on_denied: OnDenied = ignore_denial,
) -> Gate:
    """Starts a gate, and saves its address in the directory, where other commands find it.

    With `saves_policies`, the inline policies of the roles survive a restart of the gate. These policies suspend
    tenants. `saves_policies` must be False for an engine that keeps its data in memory: otherwise a tenant would still
    be suspended after its data is lost. With `checks_index_keys`, the gate also denies writes of index keys outside
    the tenant's prefix, which IAM does not check.
    """
    account = Account.from_definitions(ROLES, deployment)
    start = partial(
        Gate.start,
        engine_url=engine_url,
        key=gate_key(directory),
        listener=listener,
        limits=limits,
        traffic_role=PROVISIONER,
        index_key_prefix_of=session_key_prefix if checks_index_keys else None,
        faults=faults,
        on_denied=on_denied,
    )
    if saves_policies:
        account = saved_role_policies.load(directory, account)
        gate = start(account=account, save_role_policies=partial(saved_role_policies.save, directory))
    else:
        gate = start(account=account)
    record = GateRecord(url=gate.url, account=deployment.account, region=deployment.region, server_url=server_url)
    save_gate_record(directory, record)
    return gate
