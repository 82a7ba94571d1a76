"""The inline policies of the local roles, kept over the gate's end: who is suspended stays so."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from keyfence.errors import KeyfenceError
from keyfence_iam.gate.account.account import Account
from keyfence_iam.policy import InvalidPolicy

FILE = "role-policies.json"

Texts = Mapping[str, Mapping[str, str]]
"""By role and name."""


class PoliciesUnusable(KeyfenceError):
    """A file of policies that cannot be read or understood: nobody is let in on a guess."""


def load(directory: Path, account: Account) -> Account:
    """The account with what was kept in the directory."""
    path = directory / FILE
    try:
        return account.with_inline(_checked(json.loads(path.read_bytes()))) if path.exists() else account
    except (OSError, ValueError, RecursionError, InvalidPolicy) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise PoliciesUnusable(
            f"The policies in {path} cannot be used: {reason}. Without the file nobody is suspended."
        ) from error


def save(directory: Path, policies: Texts) -> None:
    """Moved into place when complete and on the disk: the old ones or the new ones are there, never half of them."""
    descriptor, draft = tempfile.mkstemp(dir=directory, prefix=f".{FILE}-")
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump(policies, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(directory / FILE)
    except BaseException:
        Path(draft).unlink()
        raise


def _checked(read: object) -> Texts:
    if not isinstance(read, dict) or not all(_is_texts(policies) for policies in read.values()):
        raise ValueError("they are not texts by role and name")
    return read


def _is_texts(policies: object) -> bool:
    return isinstance(policies, dict) and all(isinstance(text, str) for text in policies.values())
