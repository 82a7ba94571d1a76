"""An environment for commands: the gate of the stack, and no other settings."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from keyfence.jobs import job_runner
from keyfence.jobs.job_record import Job, JobId
from keyfence.jobs.job_runner import JobProgram, JobResources
from keyfence.local.data_directory import INDEX_KEY_FILE, data_directory, gate_key
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles import ROLES
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import RecordedSleep
from tests.fakes.fences import INDEX_KEY
from tests.stack import SHORT_SETTLE, ServiceStack


@pytest.fixture(autouse=True)
def _empty_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes KEYFENCE_* and AWS_* variables and changes into an empty directory."""
    for name in [name for name in os.environ if name.startswith(("KEYFENCE_", "AWS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def gate(stack: ServiceStack, tmp_path: Path) -> Iterator[Gate]:
    """Yields a gate before the stack's table. The default data directory has its key and the stack's index key."""
    account = Account.from_definitions(ROLES, Deployment(table=stack.settings.table))
    data = data_directory(tmp_path / ".keyfence")
    (data / INDEX_KEY_FILE).write_text(INDEX_KEY)
    with Gate.start(engine_url=stack.engine_url, account=account, key=gate_key(data)) as running:
        yield running


@pytest.fixture
def terminal(stack: ServiceStack, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_TABLE", stack.settings.table)
    monkeypatch.setenv("KEYFENCE_ENDPOINT_URL", gate.url)


@pytest.fixture
def short_settle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers with these settings would act on an earlier state of a tenant for about half a second."""
    for name, value in SHORT_SETTLE.items():
        monkeypatch.setenv(f"KEYFENCE_{name.upper()}", f"{value}")


@pytest.fixture
def job_sleep(monkeypatch: pytest.MonkeyPatch) -> RecordedSleep:
    """Replaces the sleep of jobs that run in this process. `test_settle_time.py` shows that jobs wait long enough."""
    recorded, run_job = RecordedSleep(), job_runner.run_job

    async def run_without_sleep(resources: JobResources, id: JobId, program: JobProgram) -> Job:
        return await run_job(replace(resources, sleep=recorded), id, program)

    monkeypatch.setattr(job_runner, "run_job", run_without_sleep)
    return recorded


@pytest.fixture
def tenant(stack: ServiceStack) -> TenantId:
    return asyncio.run(stack.new_tenant())
