"""Saves inline policies of the local roles in a file, so that a suspended tenant stays suspended after a restart."""

import json
from collections.abc import Mapping
from pathlib import Path

from keyfence.errors import KeyfenceError
from keyfence.local.data_directory import atomic_file
from keyfence_iam.gate.account.account import Account
from keyfence_iam.policy import InvalidPolicy

POLICIES_FILE = "role-policies.json"

PolicyTexts = Mapping[str, Mapping[str, str]]
"""Policy documents, by the role's name and then by the policy's name."""


class PoliciesUnusable(KeyfenceError):
    """The saved policies cannot be read. Without them the gate would admit suspended tenants, so it does not start."""


def load(directory: Path, account: Account) -> Account:
    """Returns the account with the inline policies that are saved in the directory.

    Raises PoliciesUnusable if the file exists but cannot be read, or contains anything but valid policies.
    """
    path = directory / POLICIES_FILE
    try:
        if not path.exists():
            return account
        return account.with_inline_policies(_checked_policies(json.loads(path.read_bytes())))
    except (OSError, ValueError, RecursionError, InvalidPolicy) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise PoliciesUnusable(
            f"The policies in {path} cannot be used: {reason}. If you delete the file, the gate denies no tenant."
        ) from error


def save(directory: Path, policies: PolicyTexts) -> None:
    with atomic_file(directory / POLICIES_FILE) as file:
        file.write(json.dumps(policies, indent=2).encode())


def _checked_policies(content: object) -> PolicyTexts:
    if not isinstance(content, dict) or not all(_is_text_mapping(policies) for policies in content.values()):
        raise ValueError("the file must contain an object with policy names and policy texts for each role name")
    return content


def _is_text_mapping(policies: object) -> bool:
    return isinstance(policies, dict) and all(isinstance(text, str) for text in policies.values())
