"""The page about the data directory names every file in it."""

from keyfence.local import data_directory, saved_role_policies
from keyfence.local.development_issuer import TENANT_ISSUERS
from keyfence.local.engines import dynoxide, dynoxide_binary
from tests.docs.pages import DOCS, table

PAGE = DOCS / "reference" / "data-directory.md"


def test_every_file_is_named() -> None:
    assert {name.strip("`") for name, _ in table(PAGE, "file")} == {
        data_directory.FORMAT_FILE,
        data_directory.GATE_FILE,
        data_directory.GATE_KEY_FILE,
        data_directory.ISSUER_KEY_FILE,
        data_directory.CURSOR_KEY_FILE,
        data_directory.INDEX_KEY_FILE,
        data_directory.SIGNING_KEY_FILE,
        f"{data_directory.EXPORTS}/",
        f"{TENANT_ISSUERS}/",
        saved_role_policies.POLICIES_FILE,
        dynoxide.DATABASE_FILE,
        dynoxide.LOG_FILE,
        dynoxide.LOCK_FILE,
        dynoxide_binary.FETCHED_FILE,
    }
