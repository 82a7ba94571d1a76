"""The policies that are checked in as JSON are those that the code would render now."""

import pytest

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import DocumentKind, parse_policy_text
from keyfence_iam.roles import ROLES
from keyfence_iam.roles.rendering import policy_files
from tests.docs.pages import ROOT

RENDERED = ROOT / "iam" / "rendered"
WANTED = policy_files(Deployment())


def test_no_rendered_policy_has_drifted() -> None:
    found = {path.name: path.read_text() for path in RENDERED.iterdir()}
    assert found == WANTED, "run uv run keyfence policy render --out iam/rendered"


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", ["identity", "trust"])
def test_a_rendered_policy_reads_back_as_the_value_it_came_from(role: str, kind: DocumentKind) -> None:
    definition = ROLES[role]
    value = definition.trust(Deployment()) if kind == "trust" else definition.identity(Deployment())
    name = f"{role}.trust.json" if kind == "trust" else f"{role}.json"
    assert parse_policy_text(WANTED[name], kind=kind) == value
