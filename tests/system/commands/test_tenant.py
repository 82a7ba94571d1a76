"""The commands of `keyfence tenant`, through a local gate and with the service's role on AWS."""

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
from tests.system.commands import command_runner

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
    "origins",
    "reason",
    "storedBytes",
    "quotas",
    "overrides",
    "createdAt",
    "updatedAt",
    "version",
}
COMMAND_WITH_SIGINT = """
import signal
from keyfence.__main__ import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
"""Runs the command with the usual handler of SIGINT, also if the process that runs the tests ignores SIGINT."""
VIEWER = "{ viewer { tenant { id name } } }"
_numbers = itertools.count(1)


def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    return command_runner.run("tenant", *arguments, stdin=stdin)


def run_json(*arguments: str) -> Any:
    code, out, error = run(*arguments, "--json")
    assert (code, error) == (0, "")
    return json.loads(out)


def onboard_arguments(provider: TenantIdentityProvider, id: str, **changes: str) -> list[str]:
    options = {
        "--name": id.title(),
        "--tier": "premium",
        "--owner-email": f"owner@{id}.example",
        "--owner-name": "First Owner",
        "--issuer": provider.issuer,
        "--jwks": "-",
    }
    return ["onboard", id, *itertools.chain.from_iterable({**options, **changes}.items())]


def onboard_new_tenant() -> tuple[str, TenantIdentityProvider]:
    id = f"typed-{next(_numbers)}"
    provider = TenantIdentityProvider(issuer=f"https://id.{id}.example")
    code, _, error = run(*onboard_arguments(provider, id), stdin=json.dumps(provider.jwks()))
    assert (code, error) == (0, "")
    return id, provider


def viewer_response(stack: ServiceStack, id: str, provider: TenantIdentityProvider) -> dict[str, Any]:
    """Returns the answer of a new server, which has no tenant in its cache, to the query VIEWER."""
    service = stack.serve()
    session = ApiClient(service, provider.token(tenant=id), parse_tenant_id(id))
    return asyncio.run(session.execute(VIEWER))


def may_read_own_item(stack: ServiceStack, gate: Gate, id: str) -> bool:
    """Returns whether the gate allows a session of the tenant to read one of the tenant's keys."""
    client = replace(stack, gate=gate).boto_client(parse_tenant_id(id), read_only=True)
    key = {"PK": {"S": f"TENANT#{id}#USER#x"}, "SK": {"S": "PROFILE"}}
    try:
        client.get_item(TableName=stack.settings.table, Key=key)
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDeniedException":
            raise
        return False
    return True


def test_an_onboarded_tenant_can_log_in_and_is_onboarded_only_once(stack: ServiceStack) -> None:
    provider = TenantIdentityProvider(issuer="https://id.initech.example")
    keys, arguments = json.dumps(provider.jwks()), onboard_arguments(provider, "initech")
    code, out, _ = run(*arguments, stdin=keys)
    assert code == 0
    assert out.startswith("initech is onboarded: Initech, PREMIUM, ACTIVE.\nIts owner is First Owner <owner@initech.ex")
    assert viewer_response(stack, "initech", provider)["data"]["viewer"]["tenant"] == {
        "id": "initech",
        "name": "Initech",
    }
    code, out, _ = run(*arguments, "--json", stdin=keys)
    again = json.loads(out)
    assert (code, set(again), again["created"]) == (0, {"created", "tenant", "owner"}, False)
    assert (set(again["tenant"]), again["tenant"]["id"]) == (TENANT_KEYS, "initech")
    assert again["owner"]["email"] == "owner@initech.example"
    code, out, error = run(*onboard_arguments(provider, "initech", **{"--name": "Other"}), stdin=keys)
    assert (code, out) == (1, "")
    assert error == "a tenant with this id was onboarded by another request, or is offboarded; choose another id\n"


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--owner-email", "nobody", "--owner-email "),
        ("--owner-name", " ", "--owner-name "),
        ("--name", "", "--name "),
        ("--issuer", "ftp://id", "--issuer must be an https:// URL"),
    ],
)
def test_a_wrong_value_is_named_by_its_option_and_no_tenant_is_created(option: str, value: str, sentence: str) -> None:
    provider = TenantIdentityProvider(issuer="https://id.wrong.example")
    arguments = onboard_arguments(provider, "wrong", **{option: value})
    code, out, error = run(*arguments, stdin=json.dumps(provider.jwks()))
    assert (code, out) == (1, "")
    assert error.startswith(sentence)
    assert run("show", "wrong")[0] == 1


def test_the_list_contains_every_tenant_once_newest_first(stack: ServiceStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_show, "MAX_PAGE_SIZE", 2)
    created_ids = [asyncio.run(stack.new_tenant()) for _ in range(5)]
    listed = [tenant["id"] for tenant in run_json("list")["tenants"]]
    assert listed[:5] == created_ids[::-1]
    assert len(set(listed)) == len(listed)
    assert [tenant["id"] for tenant in run_json("list", "--limit", "3")["tenants"]] == created_ids[:1:-1]
    code, out, error = run("list", "--limit", "5")
    assert (code, error) == (0, "5 tenants.\n")
    assert [line.split()[:3] for line in out.splitlines()] == [
        ["ID", "STATUS", "TIER"],
        *[[id, "ACTIVE", "STANDARD"] for id in created_ids[::-1]],
    ]


def test_the_list_of_a_status_contains_only_tenants_with_that_status(stack: ServiceStack) -> None:
    assert run("list", "--status", "offboarded") == (0, "", "0 tenants.\n")
    active, suspended = asyncio.run(stack.new_tenant()), asyncio.run(stack.new_tenant())
    assert run("suspend", suspended, "--reason", "unpaid")[0] == 0
    listed = [tenant["id"] for tenant in run_json("list", "--status", "SUSPENDED")["tenants"]]
    assert suspended in listed
    assert active not in listed


def test_show_prints_issuer_quotas_shards_and_events(stack: ServiceStack) -> None:
    id, provider = onboard_new_tenant()
    assert run("quotas", id, "--users", "7", "--as", "ann")[0] == 0
    code, out, error = run("show", id)
    assert (code, error) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert ["Issuer", provider.issuer] in lines
    assert ["users", "7", "this", "tenant"] in lines
    assert ["requestsPerSecond", "2,000", "tier", "PREMIUM"] in lines
    assert ["all", "collections", "1", "1"] in lines
    assert any(line[2:] == ["tenant.quotas_changed", "cli:ann", '{"users":7}'] for line in lines)
    found = run_json("show", id, "--events", "2")
    assert set(found) == TENANT_KEYS | {"shards", "events"}
    assert [event["kind"] for event in found["events"]] == ["tenant.quotas_changed", "tenant.onboarded"]
    assert set(found["events"][0]) == {"id", "at", "kind", "by", "detail"}
    assert found["overrides"] == {"users": 7}


def test_a_name_is_printed_literally_and_not_as_markup(stack: ServiceStack) -> None:
    id = asyncio.run(stack.new_tenant())
    assert run("rename", id, "--name", "[red]Rot[/red] [/]")[0] == 0
    assert "[red]Rot[/red] [/]" in run("show", id)[1]
    assert "[red]Rot[/red] [/]" in run("list", "--limit", "100")[1]


def test_a_suspended_tenant_is_refused_by_iam_immediately_and_by_servers(stack: ServiceStack, gate: Gate) -> None:
    (id, provider), (other, _) = onboard_new_tenant(), onboard_new_tenant()
    assert may_read_own_item(stack, gate, id)
    code, out, _ = run("suspend", id, "--reason", "unpaid", "--as", "ann")
    assert (code, out) == (
        0,
        f"{id} is suspended: unpaid\nIAM denies its sessions.\n"
        "All running servers use the change within 5 seconds, or within their KEYFENCE_TENANT_CACHE_SECONDS.\n",
    )
    assert not may_read_own_item(stack, gate, id)
    assert may_read_own_item(stack, gate, other)
    (error,) = viewer_response(stack, id, provider)["errors"]
    assert (error["extensions"]["code"], error["message"]) == ("FORBIDDEN", "the tenant is suspended")
    newest = run_json("show", id)["events"][0]
    assert (newest["kind"], newest["by"], newest["detail"]) == ("tenant.suspended", "cli:ann", {"reason": "unpaid"})
    assert run_json("resume", id)["status"] == "ACTIVE"
    assert may_read_own_item(stack, gate, id)
    assert viewer_response(stack, id, provider)["data"]["viewer"]["tenant"]["id"] == id


def test_a_suspension_that_did_not_reach_iam_is_an_error_and_the_same_command_repairs_it(
    stack: ServiceStack, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, _ = onboard_new_tenant()
    with monkeypatch.context() as broken:
        broken.setenv("KEYFENCE_IAM_ENDPOINT_URL", NOWHERE)
        code, out, error = run("suspend", id, "--reason", "unpaid")
    assert (code, out) == (1, "")
    assert error.startswith("the change is stored, but IAM does not enforce it yet: ")
    assert error.endswith("; send the same request again\n")
    assert may_read_own_item(stack, gate, id)
    assert run("suspend", id, "--reason", "unpaid")[0] == 0
    assert not may_read_own_item(stack, gate, id)


def test_names_tiers_and_quotas_are_changed(stack: ServiceStack) -> None:
    id, _ = onboard_new_tenant()
    version = str(run_json("show", id)["version"])
    assert run_json("rename", id, "--name", "Neu", "--expected-version", version)["name"] == "Neu"
    code, _, error = run("rename", id, "--name", "Neuer", "--expected-version", version)
    assert (code, error) == (1, f"the tenant is at version {int(version) + 1}, not {version}\n")
    assert run_json("quotas", id, "--requests-per-second", "77")["quotas"]["requestsPerSecond"] == 77
    changed = run_json("tier", id, "free")
    assert (changed["tier"], changed["quotas"]["requestsPerSecond"], changed["quotas"]["users"]) == ("FREE", 77, 10)
    assert set(changed) == TENANT_KEYS


def test_origins_of_web_pages_are_replaced_and_removed(stack: ServiceStack) -> None:
    id, _ = onboard_new_tenant()
    assert run_json("origins", id, "https://b.example", "https://a.example")["origins"] == [
        "https://a.example",
        "https://b.example",
    ]
    code, _, error = run("origins", id, "http://a.example")
    assert code == 1
    assert "'http://a.example' is not an origin like https://app.example.com" in error
    assert run_json("show", id)["origins"] == ["https://a.example", "https://b.example"]
    assert run_json("origins", id)["origins"] == []


def test_replaced_keys_of_an_issuer_are_accepted_and_the_old_keys_are_refused(stack: ServiceStack) -> None:
    id, provider = onboard_new_tenant()
    other = TenantIdentityProvider(issuer=provider.issuer, kid="key-2")
    assert viewer_response(stack, id, other)["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    Path("keys.json").write_text(json.dumps(other.jwks()))
    code, out, _ = run("keys", id, "--jwks", "keys.json")
    assert (code, out.splitlines()[0]) == (0, f"Replaced the keys of {provider.issuer}, the issuer of {id}.")
    assert viewer_response(stack, id, other)["data"]["viewer"]["tenant"]["id"] == id
    assert viewer_response(stack, id, provider)["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


def test_an_issuer_is_onboarded_with_a_mapping_that_can_be_removed(stack: ServiceStack) -> None:
    provider = TenantIdentityProvider(issuer="https://id.mapped.example")
    Path("mapping.json").write_text(json.dumps({"claims": {"role": "roles"}, "roles": {"staff": "ADMIN"}}))
    arguments = onboard_arguments(provider, "mapped", **{"--mapping": "mapping.json"})
    assert run(*arguments, stdin=json.dumps(provider.jwks()))[0] == 0

    def is_accepted(token: str) -> bool:
        client = ApiClient(stack.serve(), token, parse_tenant_id("mapped"))
        return "data" in asyncio.run(client.execute(VIEWER))

    mapped_token, plain_token = provider.token(tenant="mapped", roles=["staff"]), provider.token(tenant="mapped")
    assert (is_accepted(mapped_token), is_accepted(plain_token)) == (True, False)
    code, out, _ = run("keys", "mapped", "--mapping", "-", stdin="{}")
    assert (code, out.splitlines()[0]) == (0, f"Replaced the claim mapping of {provider.issuer}, the issuer of mapped.")
    assert is_accepted(plain_token)
    code, _, error = run("keys", "mapped", "--mapping", "-", stdin='{"tenants": {"org_1": "acme"}}')
    assert (code, error.startswith("--mapping: tenants must name no tenant but mapped")) == (1, True)


def _hour(tenant: TenantId, hour: datetime, **operations: UsageCounts) -> UsageHour:
    expires_at = int(datetime(2099, 1, 1, tzinfo=UTC).timestamp())
    return UsageHour(
        tenant=tenant, hour=hour, writer_id="a", operations=operations, ttl=expires_at, created_at=hour, updated_at=hour
    )


def test_usage_and_its_cost_are_printed_by_operation_and_by_tenant(stack: ServiceStack) -> None:
    tenant, idle_tenant = asyncio.run(stack.new_tenant()), asyncio.run(stack.new_tenant())
    noon = datetime(2026, 3, 5, 12, tzinfo=UTC)
    users = UsageCounts(requests=3, read_units=Decimal("1000000.5"))
    orders = UsageCounts(requests=1, refused=2, write_units=Decimal(2_000_000), throttled_calls=4)
    hours = [
        _hour(tenant, noon, users=users),
        _hour(tenant, datetime(2026, 2, 27, tzinfo=UTC), placeOrder=orders),
        _hour(tenant, datetime(2026, 4, 1, tzinfo=UTC), users=users),
        _hour(CONTROL_PLANE, noon, outside=UsageCounts(read_units=Decimal(8))),
    ]
    asyncio.run(UsageRepository(stack.tables.for_control_plane(may_write=True)).put(hours))
    period = ("--from", "2026-02-20", "--to", "2026-04-01")
    found = run_json("usage", tenant, *period)
    assert (found["from"], found["to"]) == ("2026-02-20T00:00:00Z", "2026-04-01T00:00:00Z")
    assert found["usdPerMillionUnits"]["write"] == "0.625"
    (usage,) = found["tenants"]
    assert (usage["requests"], usage["throttled"], usage["readUnits"], usage["writeUnits"]) == (
        4,
        2,
        1_000_000.5,
        2_000_000,
    )
    assert usage["costUsd"] == pytest.approx(0.125 + 1.25, abs=1e-6)
    assert usage["operations"]["placeOrder"]["throttledCalls"] == 4
    usages = {usage["tenant"]: usage for usage in run_json("usage", *period)["tenants"]}
    assert (usages[tenant]["requests"], usages[idle_tenant]["requests"], usages["-"]["readUnits"]) == (4, 0, 8)
    code, out, _ = run("usage", tenant, *period)
    assert (code, out.splitlines()[1].split()) == (0, ["placeOrder", "1", "2", "0", "2,000,000", "4", "1.250000"])
    assert "A million read units cost 0.125 USD" in out
    assert run("usage", "-", *period)[1].splitlines()[1].split()[0] == "outside"


def test_an_end_before_the_start_is_an_error_that_names_the_option() -> None:
    code, _, error = run("usage", "--from", "2026-03-02", "--to", "2026-03-01")
    assert (code, error) == (1, "--to must be after from, by at most 400 days.\n")


@pytest.mark.parametrize("command", ["show", "usage", *CHANGES])
def test_an_unknown_tenant_is_an_error_with_advice(command: str) -> None:
    code, out, error = run(command, "nobody-here", *CHANGES.get(command, []))
    assert (code, out) == (1, "")
    assert error == "Tenant nobody-here does not exist. `keyfence tenant list` shows all tenants.\n"


def test_on_aws_the_services_role_assumes_the_control_plane_role(
    stack: ServiceStack, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, _ = onboard_new_tenant()
    command_runner.use_role_on_aws(gate, SERVICE_BASE, monkeypatch)
    assert run_json("suspend", id, "--reason", "unpaid", "--data", "nowhere")["status"] == "SUSPENDED"
    assert not may_read_own_item(stack, gate, id)
    assert run_json("show", id, "--data", "nowhere")["reason"] == "unpaid"


def test_an_unreachable_or_foreign_gate_is_an_error() -> None:
    Path("other").mkdir(exist_ok=True)
    gate_key(Path("other"))
    foreign = f"The gate at {os.environ['KEYFENCE_ENDPOINT_URL']} belongs to another data directory."
    for options, message in ((["--data", "other"], foreign), (["--endpoint-url", NOWHERE], "No gate answers at")):
        code, _, error = run("list", *options)
        assert code == 1
        assert error.startswith(message)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_command_prints_that_it_was_interrupted(ending: signal.Signals) -> None:
    """The endpoint accepts a connection and never answers, so the command waits until the signal."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(command_runner.TIMEOUT_SECONDS)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        process = command_runner.start_python("-c", COMMAND_WITH_SIGINT, "tenant", "list", "--endpoint-url", url)
        connection, _ = listener.accept()
        process.send_signal(ending)
        assert process.stderr
        first_line = process.stderr.readline()
        connection.close()
    out, _ = process.communicate(timeout=command_runner.TIMEOUT_SECONDS)
    assert (process.returncode, out, first_line) == (130, b"", b"Interrupted.\n")
