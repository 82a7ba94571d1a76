"""keyfence tenant as it is typed: through the gate of this machine, or as the service's role on AWS."""

import asyncio
import itertools
import json
import os
import signal
import socket
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyfence.cli.tenant import list_show
from keyfence.local.data_directory import gate_key
from keyfence.usage.hourly_usage import CONTROL_PLANE, UsageCounts, UsageHour, UsageRepository
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles.names import SERVICE_BASE
from keyfence_iam.tenant import TenantId, parse_tenant_id
from tests.fakes.tenant_identity_provider import TenantIdentityProvider
from tests.service.cli.tenant_changes import CHANGES
from tests.stack import ApiClient, ServiceStack
from tests.system.commands import command_runner as typed

pytestmark = pytest.mark.usefixtures("terminal")

NOWHERE = "http://127.0.0.1:1"
TENANT_KEYS = {
    "id",
    "name",
    "status",
    "tier",
    "placement",
    "move",
    "issuer",
    "reason",
    "storedBytes",
    "quotas",
    "overrides",
    "createdAt",
    "updatedAt",
    "version",
}
HEARING = """
import signal
from keyfence.__main__ import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
"""The command, also where whoever runs the tests has Ctrl-C ignored."""
VIEWER = "{ viewer { tenant { id name } } }"
_numbers = itertools.count(1)


def run(*arguments: str, given: str = "") -> tuple[int, str, str]:
    return typed.run("tenant", *arguments, stdin=given)


def told(*arguments: str) -> Any:
    code, out, said = run(*arguments, "--json")
    assert (code, said) == (0, "")
    return json.loads(out)


def application(provider: TenantIdentityProvider, id: str, **changes: str) -> list[str]:
    given = {
        "--name": id.title(),
        "--tier": "premium",
        "--owner-email": f"owner@{id}.example",
        "--owner-name": "First Owner",
        "--issuer": provider.issuer,
        "--jwks": "-",
    }
    return ["onboard", id, *itertools.chain.from_iterable({**given, **changes}.items())]


def newcomer() -> tuple[str, TenantIdentityProvider]:
    id = f"typed-{next(_numbers)}"
    provider = TenantIdentityProvider(issuer=f"https://id.{id}.example")
    code, _, said = run(*application(provider, id), given=json.dumps(provider.jwks()))
    assert (code, said) == (0, "")
    return id, provider


def served(stack: ServiceStack, id: str, provider: TenantIdentityProvider) -> dict[str, Any]:
    """By a server that knows of nobody yet."""
    fresh = stack.serve()
    session = ApiClient(fresh, provider.token(tenant=id), parse_tenant_id(id))
    return asyncio.run(session.execute(VIEWER))


def passes(stack: ServiceStack, gate: Gate, id: str) -> bool:
    """Whether the fence lets a session of the tenant look for one of its own items."""
    client = replace(stack, gate=gate).boto_client(parse_tenant_id(id), read_only=True)
    key = {"PK": {"S": f"TENANT#{id}#USER#x"}, "SK": {"S": "PROFILE"}}
    try:
        client.get_item(TableName=stack.settings.table, Key=key)
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDeniedException":
            raise
        return False
    return True


def test_a_tenant_that_is_onboarded_can_log_in_and_is_onboarded_once(stack: ServiceStack) -> None:
    provider = TenantIdentityProvider(issuer="https://id.initech.example")
    keys, typed = json.dumps(provider.jwks()), application(provider, "initech")
    code, out, _ = run(*typed, given=keys)
    assert code == 0
    assert out.startswith("initech is onboarded: Initech, PREMIUM, ACTIVE.\nIts owner is First Owner <owner@initech.ex")
    assert served(stack, "initech", provider)["data"]["viewer"]["tenant"] == {"id": "initech", "name": "Initech"}
    code, out, _ = run(*typed, "--json", given=keys)
    again = json.loads(out)
    assert (code, set(again), again["created"]) == (0, {"created", "tenant", "owner"}, False)
    assert (set(again["tenant"]), again["tenant"]["id"]) == (TENANT_KEYS, "initech")
    assert again["owner"]["email"] == "owner@initech.example"
    code, out, said = run(*application(provider, "initech", **{"--name": "Other"}), given=keys)
    assert (code, out) == (1, "")
    assert said == "another tenant has this id, or was onboarded by another request\n"


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--owner-email", "nobody", "--owner-email "),
        ("--owner-name", " ", "--owner-name "),
        ("--name", "", "--name "),
        ("--issuer", "ftp://id", "--issuer must be an https:// URL"),
    ],
)
def test_what_is_wrong_is_called_by_its_option_and_nothing_is_claimed(option: str, value: str, sentence: str) -> None:
    provider = TenantIdentityProvider(issuer="https://id.wrong.example")
    typed = application(provider, "wrong", **{option: value})
    code, out, said = run(*typed, given=json.dumps(provider.jwks()))
    assert (code, out) == (1, "")
    assert said.startswith(sentence)
    assert run("show", "wrong")[0] == 1


def test_the_list_has_every_tenant_once_and_the_newest_first(
    stack: ServiceStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_show, "MAX_PAGE_SIZE", 2)
    made = [asyncio.run(stack.new_tenant()) for _ in range(5)]
    listed = [one["id"] for one in told("list")["tenants"]]
    assert listed[:5] == made[::-1]
    assert len(set(listed)) == len(listed)
    assert [one["id"] for one in told("list", "--limit", "3")["tenants"]] == made[:1:-1]
    code, out, said = run("list", "--limit", "5")
    assert (code, said) == (0, "5 tenants.\n")
    assert [line.split()[:3] for line in out.splitlines()] == [
        ["ID", "STATUS", "TIER"],
        *[[one, "ACTIVE", "STANDARD"] for one in made[::-1]],
    ]


def test_the_list_of_a_status_has_nobody_else(stack: ServiceStack) -> None:
    assert run("list", "--status", "offboarded") == (0, "", "0 tenants.\n")
    left, right = asyncio.run(stack.new_tenant()), asyncio.run(stack.new_tenant())
    assert run("suspend", right, "--reason", "unpaid")[0] == 0
    listed = [one["id"] for one in told("list", "--status", "SUSPENDED")["tenants"]]
    assert right in listed
    assert left not in listed


def test_show_has_all_that_is_known_of_a_tenant(stack: ServiceStack) -> None:
    id, provider = newcomer()
    assert run("quotas", id, "--users", "7", "--as", "ann")[0] == 0
    code, out, said = run("show", id)
    assert (code, said) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert ["Issuer", provider.issuer] in lines
    assert ["users", "7", "this", "tenant"] in lines
    assert ["requestsPerSecond", "2,000", "tier", "PREMIUM"] in lines
    assert ["all", "collections", "1", "1"] in lines
    assert any(line[2:] == ["tenant.quotas_changed", "cli:ann", '{"users":7}'] for line in lines)
    found = told("show", id, "--events", "2")
    assert set(found) == TENANT_KEYS | {"shards", "events"}
    assert [one["kind"] for one in found["events"]] == ["tenant.quotas_changed", "tenant.onboarded"]
    assert set(found["events"][0]) == {"id", "at", "kind", "by", "detail"}
    assert found["overrides"] == {"users": 7}


def test_a_name_is_shown_as_it_is_and_not_as_markup(stack: ServiceStack) -> None:
    id = asyncio.run(stack.new_tenant())
    assert run("rename", id, "--name", "[red]Rot[/red] [/]")[0] == 0
    assert "[red]Rot[/red] [/]" in run("show", id)[1]
    assert "[red]Rot[/red] [/]" in run("list", "--limit", "100")[1]


def test_who_is_suspended_is_refused_by_the_fence_at_once_and_by_servers(stack: ServiceStack, gate: Gate) -> None:
    (id, provider), (other, _) = newcomer(), newcomer()
    assert passes(stack, gate, id)
    code, out, _ = run("suspend", id, "--reason", "unpaid", "--as", "ann")
    assert (code, out) == (
        0,
        f"{id} is suspended: unpaid\nIAM denies its sessions.\nAll running servers use the change within 5 seconds.\n",
    )
    assert not passes(stack, gate, id)
    assert passes(stack, gate, other)
    (error,) = served(stack, id, provider)["errors"]
    assert (error["extensions"]["code"], error["message"]) == ("FORBIDDEN", "the tenant is suspended")
    newest = told("show", id)["events"][0]
    assert (newest["kind"], newest["by"], newest["detail"]) == ("tenant.suspended", "cli:ann", {"reason": "unpaid"})
    assert told("resume", id)["status"] == "ACTIVE"
    assert passes(stack, gate, id)
    assert served(stack, id, provider)["data"]["viewer"]["tenant"]["id"] == id


def test_a_suspension_that_iam_did_not_get_is_an_error_and_the_same_command_repairs_it(
    stack: ServiceStack, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, _ = newcomer()
    with monkeypatch.context() as broken:
        broken.setenv("KEYFENCE_IAM_ENDPOINT_URL", NOWHERE)
        code, out, said = run("suspend", id, "--reason", "unpaid")
    assert (code, out) == (1, "")
    assert said.startswith("the change is stored, but IAM does not enforce it yet: ")
    assert said.endswith("; send the same request again\n")
    assert passes(stack, gate, id)
    assert run("suspend", id, "--reason", "unpaid")[0] == 0
    assert not passes(stack, gate, id)


def test_names_tiers_and_quotas_are_changed(stack: ServiceStack) -> None:
    id, _ = newcomer()
    version = str(told("show", id)["version"])
    assert told("rename", id, "--name", "Neu", "--expected-version", version)["name"] == "Neu"
    code, _, said = run("rename", id, "--name", "Neuer", "--expected-version", version)
    assert (code, said) == (1, f"the tenant is at version {int(version) + 1}, not {version}\n")
    assert told("quotas", id, "--requests-per-second", "77")["quotas"]["requestsPerSecond"] == 77
    changed = told("tier", id, "free")
    assert (changed["tier"], changed["quotas"]["requestsPerSecond"], changed["quotas"]["users"]) == ("FREE", 77, 10)
    assert set(changed) == TENANT_KEYS


def test_an_issuer_with_other_keys_signs_with_them(stack: ServiceStack) -> None:
    id, provider = newcomer()
    other = TenantIdentityProvider(issuer=provider.issuer, kid="key-2")
    assert served(stack, id, other)["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    Path("keys.json").write_text(json.dumps(other.jwks()))
    code, out, _ = run("keys", id, "--jwks", "keys.json")
    assert (code, out.splitlines()[0]) == (0, f"The keys of {provider.issuer}, the issuer of {id}, are replaced.")
    assert served(stack, id, other)["data"]["viewer"]["tenant"]["id"] == id
    assert served(stack, id, provider)["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


def _hour(tenant: TenantId, at: datetime, **operations: UsageCounts) -> UsageHour:
    day = int(datetime(2099, 1, 1, tzinfo=UTC).timestamp())
    return UsageHour(
        tenant=tenant, hour=at, writer_id="a", operations=operations, ttl=day, created_at=at, updated_at=at
    )


def test_usage_is_told_by_operation_and_by_tenant_with_what_it_costs(stack: ServiceStack) -> None:
    tenant, quiet = asyncio.run(stack.new_tenant()), asyncio.run(stack.new_tenant())
    noon = datetime(2026, 3, 5, 12, tzinfo=UTC)
    users = UsageCounts(requests=3, read_units=Decimal("1000000.5"))
    orders = UsageCounts(requests=1, refused=2, write_units=Decimal(2_000_000), throttled_calls=4)
    hours = [
        _hour(tenant, noon, users=users),
        _hour(tenant, datetime(2026, 2, 27, tzinfo=UTC), placeOrder=orders),
        _hour(tenant, datetime(2026, 4, 1, tzinfo=UTC), users=users),
        _hour(CONTROL_PLANE, noon, outside=UsageCounts(read_units=Decimal(8))),
    ]
    asyncio.run(UsageRepository(stack.tables.for_control_plane(writes=True)).put(hours))
    span = ("--from", "2026-02-20", "--to", "2026-04-01")
    found = told("usage", tenant, *span)
    assert (found["from"], found["to"]) == ("2026-02-20T00:00:00Z", "2026-04-01T00:00:00Z")
    assert found["usdPerMillionUnits"]["write"] == "0.625"
    (one,) = found["tenants"]
    assert (one["requests"], one["throttled"], one["readUnits"], one["writeUnits"]) == (4, 2, 1_000_000.5, 2_000_000)
    assert one["costUsd"] == pytest.approx(0.125 + 1.25, abs=1e-6)
    assert one["operations"]["placeOrder"]["throttledCalls"] == 4
    rows = {one["tenant"]: one for one in told("usage", *span)["tenants"]}
    assert (rows[tenant]["requests"], rows[quiet]["requests"], rows["-"]["readUnits"]) == (4, 0, 8)
    code, out, _ = run("usage", tenant, *span)
    assert (code, out.splitlines()[1].split()) == (0, ["placeOrder", "1", "2", "0", "2,000,000", "4", "1.250000"])
    assert "A million read units cost 0.125 USD" in out
    assert run("usage", "-", *span)[1].splitlines()[1].split()[0] == "outside"


def test_a_span_that_ends_before_it_begins_is_said_by_its_option() -> None:
    code, _, said = run("usage", "--from", "2026-03-02", "--to", "2026-03-01")
    assert (code, said) == (1, "--to must be after from, by at most 400 days.\n")


@pytest.mark.parametrize("command", ["show", "usage", *CHANGES])
def test_a_tenant_that_is_not_there_is_said_with_what_to_do(command: str) -> None:
    code, out, said = run(command, "nobody-here", *CHANGES.get(command, []))
    assert (code, out) == (1, "")
    assert said == "Tenant nobody-here does not exist. `keyfence tenant list` shows all tenants.\n"


def test_on_aws_it_is_the_services_role_that_becomes_the_control_plane(
    stack: ServiceStack, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, _ = newcomer()
    typed.become(gate, SERVICE_BASE, monkeypatch)
    assert told("suspend", id, "--reason", "unpaid", "--data", "nowhere")["status"] == "SUSPENDED"
    assert not passes(stack, gate, id)
    assert told("show", id, "--data", "nowhere")["reason"] == "unpaid"


def test_what_cannot_be_reached_is_said_in_a_sentence() -> None:
    Path("other").mkdir(exist_ok=True)
    gate_key(Path("other"))
    foreign = f"The gate at {os.environ['KEYFENCE_ENDPOINT_URL']} belongs to another data directory."
    for options, message in ((["--data", "other"], foreign), (["--endpoint-url", NOWHERE], "No gate answers at")):
        code, _, error = run("list", *options)
        assert code == 1
        assert error.startswith(message)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_a_command_that_is_interrupted_says_so(ending: signal.Signals) -> None:
    """At an address where somebody listens and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(typed.SECONDS)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process = typed.process("-c", HEARING, "tenant", "list", "--endpoint-url", url)
        connection, _ = silent.accept()
        process.send_signal(ending)
        assert process.stderr
        first = process.stderr.readline()
        connection.close()
    out, _ = process.communicate(timeout=typed.SECONDS)
    assert (process.returncode, out, first) == (130, b"", b"Interrupted.\n")
