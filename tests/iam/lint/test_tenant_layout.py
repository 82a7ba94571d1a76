"""The linter checks the tags and keys of any tenant layout."""

import json

import pytest

from keyfence_iam.lint import TenantLayout, lint_text
from keyfence_iam.tenant import tenant_key_prefix
from tests.iam.lint.sample_policies import (
    OWN_KEYS,
    WEAK_POLICIES,
    policy_with_keys,
    tenant_trust_policy,
    trust_policy,
)


def test_the_samples_use_the_default_layout() -> None:
    assert tenant_key_prefix("${aws:PrincipalTag/tenant}") + "*" == OWN_KEYS


CUSTOMER_LAYOUT = TenantLayout(session_tag="customer", key_prefix="C/{tenant}/", shared_prefixes=("SYSTEM/",))


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("C/${aws:PrincipalTag/customer}/*", []),
        ("C/acme/*", []),
        ("SYSTEM/*", []),
        ("C/${aws:PrincipalTag/tenant}/*", ["fence-on-another-variable"]),
        ("C/${aws:PrincipalTag/Customer}/*", ["tag-key-spelling"]),
        ("C/${aws:PrincipalTag/customer}#*", ["no-closing-delimiter"]),
        ("C/acme*", ["no-closing-delimiter"]),
        ("TENANT#acme#*", ["shared-partition"]),
        ("CONTROL#*", ["shared-partition"]),
    ],
)
def test_tags_and_keys_are_checked_against_the_layout_that_is_passed(value: str, names: list[str]) -> None:
    assert [finding.name for finding in lint_text(json.dumps(policy_with_keys(value)), layout=CUSTOMER_LAYOUT)] == names


def test_fixes_name_the_tags_and_keys_of_the_layout() -> None:
    (delimiter,) = lint_text(json.dumps(policy_with_keys("C/acme*")), layout=CUSTOMER_LAYOUT)
    (tag,) = lint_text(json.dumps(trust_policy("sts:AssumeRole")), layout=CUSTOMER_LAYOUT)
    assert delimiter.fix.endswith("C/{tenant}/*.")
    assert '{"aws:RequestTag/customer": "?*"}' in tag.fix
    default_fixes = [one.fix for _, document in WEAK_POLICIES.values() for one in lint_text(json.dumps(document))]
    assert not [fix for fix in default_fixes if "<tag>" in fix or "<variable>" in fix or "<keys>" in fix]


def test_a_trust_policy_is_checked_for_the_tag_of_the_layout() -> None:
    """The samples require the tag tenant, which is just another tag in this layout."""
    names = {finding.name for finding in lint_text(json.dumps(tenant_trust_policy()), layout=CUSTOMER_LAYOUT)}
    assert names == {"tag-not-required", "other-tags-accepted"}


@pytest.mark.parametrize("prefix", ["T#", "{tenant}", "T#{tenant}", "{tenant}#{tenant}#"])
def test_a_layout_without_a_delimiter_after_the_tenant_is_rejected(prefix: str) -> None:
    with pytest.raises(ValueError, match="delimiter"):
        TenantLayout(key_prefix=prefix)
