"""The policies in iam/rendered are the same as those that the code renders now."""

import pytest

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import DocumentKind, parse_policy_text
from keyfence_iam.roles import ROLES
from keyfence_iam.roles.policy_files import policy_files
from tests.docs.pages import ROOT

RENDERED_FOLDER = ROOT / "iam" / "rendered"
EXPECTED = policy_files(Deployment())


def test_no_rendered_policy_has_drifted() -> None:
    files = {path.name: path.read_text() for path in RENDERED_FOLDER.iterdir()}
    assert files == EXPECTED, "run uv run keyfence policy render --out iam/rendered"


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", ["identity", "trust"])
def test_a_rendered_policy_is_parsed_into_the_same_policy(role: str, kind: DocumentKind) -> None:
    definition = ROLES[role]
    value = definition.trust(Deployment()) if kind == "trust" else definition.identity(Deployment())
    name = f"{role}.trust.json" if kind == "trust" else f"{role}.json"
    assert parse_policy_text(EXPECTED[name], kind=kind) == value
