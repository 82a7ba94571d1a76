"""`keyfence policy` prints policies, finds weaknesses and explains decisions. Errors are one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from keyfence.cli import ErrorBoundaryGroup
from keyfence.cli.policy import policy
from keyfence_iam.deployment import Deployment
from keyfence_iam.roles import ROLES
from keyfence_iam.roles.policy_files import policy_files
from tests.service.cli.conftest import error_message

app = typer.Typer(cls=ErrorBoundaryGroup)
app.add_typer(policy)

NEIGHBOURS = '{"GetItem": {"Key": {"PK": {"S": "TENANT#globex#USER#1"}, "SK": {"S": "PROFILE"}}}}'
OWN = NEIGHBOURS.replace("globex", "acme")
REPEATED = '{"GetItem": {"Key": {"PK": {"S": "a"}, "PK": {"S": "b"}, "SK": {"S": "c"}}}}'
TWICE = "a key occurs twice in one object."


def run(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["policy", *(str(argument) for argument in arguments)], input=stdin)


def explained(role: str, call: str, *arguments: str) -> Any:
    result = run("explain", "--role", role, "--call", call, "--json", *arguments)
    assert result.exit_code == 0
    return json.loads(result.stdout)


@pytest.mark.parametrize("command", ["render", "lint", "explain", "evaluate"])
def test_the_help_of_every_command_has_an_example(command: str) -> None:
    output = run(command, "--help").stdout
    assert f"keyfence policy {command}" in " ".join(output.split("Example: ", 1)[1].split())


def test_the_help_of_evaluate_describes_a_line() -> None:
    output = " ".join(run("evaluate", "--help").stdout.replace("│", " ").split())
    assert '{"identity": [policy...], "action": A, "resource": R}' in output
    assert "Blank lines are skipped" in output


def test_explain_rejects_a_repeated_key_on_stdin_too() -> None:
    assert TWICE in error_message(run("explain", "--role", "migrator", "--call", "-", stdin=REPEATED))


@pytest.mark.parametrize("role", ROLES)
def test_render_prints_the_policy_of_a_role_and_its_trust(role: str) -> None:
    assert run("render", role).stdout == policy_files(Deployment())[f"{role}.json"]
    assert run("render", role, "--trust").stdout == policy_files(Deployment())[f"{role}.trust.json"]


def test_render_prints_every_role_under_its_name() -> None:
    assert list(json.loads(run("render").stdout)) == list(ROLES)
    trusts = json.loads(run("render", "--trust").stdout)
    assert trusts["tenant-read"] == ROLES["tenant-read"].trust(Deployment()).as_json()


def test_render_writes_files_for_the_given_deployment(tmp_path: Path) -> None:
    words = ("--account", "123456789012", "--region", "eu-west-1", "--table", "shop", "--role-prefix", "s-")
    assert run("render", "--out", tmp_path / "new", *words, "--partition", "aws-cn").exit_code == 0
    where = Deployment(account="123456789012", region="eu-west-1", table="shop", role_prefix="s-", partition="aws-cn")
    assert {path.name: path.read_text() for path in (tmp_path / "new").iterdir()} == policy_files(where)


def test_render_writes_one_role(tmp_path: Path) -> None:
    run("render", "migrator", "--out", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["migrator.json", "migrator.trust.json"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["render", "king"], "'king' is not a role; the roles are tenant-read, "),
        (["render", "--table", "*"], "--table '*' must be 3 to 255 letters, digits, '_', '.' and '-'."),
        (["render", "--account", "1"], "--account '1' must be twelve digits."),
        (["render", "--region", "eu"], "--region 'eu' must be the name of a region, such as us-east-1."),
        (
            ["render", "--role-prefix", "a/*"],
            "--role-prefix 'a/*' must be at most 48 letters, digits and characters of '_+=,.@-'.",
        ),
        (["render", "--out", "/dev/null"], "/dev/null cannot be written: "),
        (["lint", "/nowhere.json"], "/nowhere.json cannot be read: No such file or directory."),
        (["lint", "/"], "/ cannot be read: Is a directory."),
        (["lint", "-", "--trust", "--resource"], "--trust and --resource exclude each other; use one of them."),
        (["explain", "--role", "king", "--call", OWN], "'king' is not a role; the roles are tenant-read, "),
        (["explain", "--role", "migrator", "--call", "{"], "--call is not valid: "),
        (["explain", "--role", "migrator", "--call", "[]"], "--call is not valid: "),
        (["explain", "--role", "migrator", "--call", REPEATED], f"--call is not valid: {TWICE}"),
        (["explain", "--role", "migrator", "--call", '{"Scan": {}, "Scan": {}}'], f"--call is not valid: {TWICE}"),
        (["explain", "--role", "migrator", "--call", "{}"], "--call must be one operation with its parameters"),
        (["explain", "--role", "migrator", "--call", '{"Scan": 1}'], "--call must be one operation"),
        (["explain", "--role", "migrator", "--call", '{"Scan": {}, "Query": {}}'], "--call must be one operation"),
        (["explain", "--role", "tenant-read", "--tenant", "A*", "--call", OWN], "--tenant 'A*' is not a tenant id: "),
    ],
    ids=str,
)
def test_an_error_is_one_sentence(arguments: list[str], sentence: str) -> None:
    output = error_message(run(*arguments))
    assert output.startswith(sentence)
    assert "\n" not in output


def test_lint_reports_that_there_is_no_weakness(tmp_path: Path) -> None:
    run("render", "--out", tmp_path)
    result = run("lint", *sorted(tmp_path.iterdir()))
    assert (result.exit_code, result.stdout) == (0, f"No weaknesses in {len(policy_files(Deployment()))} policies.\n")


def test_lint_names_the_code_the_statement_and_the_fix_and_exits_with_1(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(run("render", "migrator").stdout.replace("AcceptH1ScanTo", "ScanTo"))
    result = run("lint", tmp_path / "bad.json")
    assert result.exit_code == 1
    assert "bad.json Statement[0] (ScanToFindItems): H1 scan-granted" in result.stdout
    assert "Fix: Remove Scan" in result.stdout
    assert result.stdout.endswith("1 weakness in 1 policy.\n")


def test_lint_reads_stdin_and_prints_json() -> None:
    result = run("lint", "-", "--json", stdin='{"Version": "2012-10-17", "Statement": []}')
    assert result.exit_code == 1
    (finding,) = json.loads(result.stdout)
    assert (finding["file"], finding["code"], finding["name"]) == ("-", "invalid", "not-a-policy")
    assert set(finding) == {"file", "code", "name", "location", "problem", "fix"}


def test_lint_prints_an_empty_list_if_there_is_no_weakness() -> None:
    result = run("lint", "-", "--json", stdin=run("render", "tenant-write").stdout)
    assert (result.exit_code, result.stdout) == (0, "[]\n")


def test_lint_uses_the_given_kind() -> None:
    trust = run("render", "tenant-read", "--trust").stdout
    assert run("lint", "-", "--trust", stdin=trust).exit_code == 0
    assert "not-a-policy" in run("lint", "-", "--resource", stdin=trust).stdout


def test_explain_allows_the_tenants_own_item_and_denies_that_of_another() -> None:
    own, other = (explained("tenant-read", call, "--tenant", "acme") for call in (OWN, NEIGHBOURS))
    assert (own["decision"], other["decision"]) == ("allowed", "denied")
    assert own["authorizations"][0]["by"]["sid"] == "ItemsWithKeyPrefix"
    assert other["authorizations"][0]["message"].endswith(
        "because no identity-based policy allows the dynamodb:GetItem action"
    )


@pytest.mark.parametrize(("tenant", "decision"), [("acme", "allowed"), ("acme-1", "denied"), ("acmecorp", "denied")])
def test_explain_denies_the_silo_of_a_tenant_whose_id_begins_with_the_same_characters(
    tenant: str, decision: str
) -> None:
    call = OWN.replace('"Key"', f'"TableName": "keyfence-silo-{tenant}", "Key"')
    assert explained("tenant-read", call, "--tenant", "acme")["decision"] == decision
    scan = f'{{"Scan": {{"TableName": "keyfence-silo-{tenant}"}}}}'
    assert explained("tenant-read", scan, "--tenant", "acme")["decision"] == "denied"
    assert explained("migrator", scan)["decision"] == "allowed"


def test_explain_denies_a_call_on_an_unknown_table() -> None:
    call = OWN.replace('"Key"', '"TableName": "another", "Key"')
    assert explained("tenant-read", call, "--tenant", "acme")["unsupported"] == "unknown table: another"


def test_explain_lists_the_elements_that_did_not_match() -> None:
    (asked,) = explained("tenant-read", NEIGHBOURS, "--tenant", "acme")["authorizations"]
    first = asked["statements"][0]
    unmatched = [finding for finding in first["elements"] if not finding["matched"]]
    assert (first["applies"], len(asked["statements"])) == (False, 5)
    assert unmatched == [
        {
            "element": "ForAllValues:StringLike dynamodb:LeadingKeys",
            "matched": False,
            "expected": ["TENANT#acme#*"],
            "actual": ["TENANT#globex#USER#1"],
        }
    ]


def test_explain_denies_a_session_without_a_tenant() -> None:
    assert explained("tenant-write", OWN)["decision"] == "denied"


@pytest.mark.parametrize(
    ("operation", "hint"),
    [
        ("getitem", "did you mean GetItem or "),
        ("Querry", "did you mean Query?"),
        ("PutItems", "did you mean PutItem or "),
        ("GrowWings", "the operations are BatchExecuteStatement, BatchGetItem, "),
    ],
)
def test_explain_of_an_unknown_operation_is_an_error_that_names_the_nearest_ones(operation: str, hint: str) -> None:
    call = json.dumps({operation: {}})
    message = error_message(run("explain", "--role", "tenant-read", "--call", call))
    assert message.startswith(f"--call: {operation!r} is not an operation of DynamoDB or DynamoDB Streams; {hint}")
    result = run("explain", "--role", "tenant-read", "--call", call, "--json")
    assert (result.exit_code, json.loads(result.stderr)["error"]["code"]) == (1, "BAD_USER_INPUT")


def test_explain_denies_a_call_that_cannot_be_evaluated_and_says_why() -> None:
    call = '{"GetItem": {"Wings": 2}}'
    explanation = explained("tenant-read", call)
    assert (explanation["decision"], explanation["unsupported"]) == ("denied", "GetItem: unknown parameter 'Wings'")
    assert "cannot be evaluated and is denied" in run("explain", "--role", "tenant-read", "--call", call).stdout


@pytest.mark.parametrize("command", ["render", "lint", "explain", "evaluate"])
def test_every_command_accepts_json(command: str) -> None:
    assert "--json" in run(command, "--help").stdout


def test_render_prints_the_paths_of_its_files_as_json(tmp_path: Path) -> None:
    written = json.loads(run("render", "migrator", "--out", tmp_path, "--json").stdout)
    assert written == {"files": [str(tmp_path / "migrator.json"), str(tmp_path / "migrator.trust.json")]}


def test_evaluate_prints_json_lines_with_and_without_json() -> None:
    line = json.dumps({"identity": [], "action": "dynamodb:GetItem", "resource": "*"})
    plain, as_json = run("evaluate", stdin=line), run("evaluate", "--json", stdin=line)
    assert plain.stdout == as_json.stdout
    assert json.loads(plain.stdout)["decision"] == "implicit_deny"


def test_explain_reads_stdin_and_evaluates_all_keys_of_a_batch() -> None:
    keys = [json.loads(call)["GetItem"]["Key"] for call in (OWN, NEIGHBOURS)]
    call = json.dumps({"BatchGetItem": {"RequestItems": {"keyfence": {"Keys": keys}}}})
    result = run("explain", "--role", "tenant-read", "--tenant", "acme", "--json", "--call", "-", stdin=call)
    (asked,) = json.loads(result.stdout)["authorizations"]
    assert asked["decision"] == "denied"
    assert len(asked["context"]["dynamodb:LeadingKeys"]) == 2


def test_explain_denies_a_transaction_if_one_part_is_denied() -> None:
    members = [{"Get": {"TableName": "keyfence", **json.loads(call)["GetItem"]}} for call in (OWN, NEIGHBOURS)]
    output = explained("tenant-read", json.dumps({"TransactGetItems": {"TransactItems": members}}), "--tenant", "acme")
    assert [asked["decision"] for asked in output["authorizations"]] == ["allowed", "denied"]
    assert output["decision"] == "denied"


def test_explain_prints_the_decision_and_each_statement() -> None:
    output = run("explain", "--role", "tenant-read", "--tenant", "acme", "--call", '{"Scan": {}}').stdout
    assert output.startswith("denied: Scan by tenant-read of acme\n")
    assert "with an explicit deny in an identity-based policy" in output
    assert "  Deny DenyScan: ✓ applies\n    ✓ Action: dynamodb:Scan\n" in output
    assert "    ✗ Null dynamodb:LeadingKeys: (no value); expected: a value\n" in output


def test_explain_uses_the_table_of_the_given_deployment() -> None:
    query = {
        "KeyConditionExpression": "GSI2PK = :p",
        "ExpressionAttributeValues": {":p": {"S": "TENANT#acme#USERS#00"}},
    }
    call = json.dumps({"Query": {"TableName": "shop", "IndexName": "GSI2", **query}})
    output = explained("tenant-read", call, "--tenant", "acme", "--table", "shop", "--account", "123456789012")
    assert output["decision"] == "allowed"
    assert output["authorizations"][0]["resource"].endswith(":123456789012:table/shop/index/GSI2")
