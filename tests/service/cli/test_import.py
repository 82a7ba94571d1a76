"""keyfence import checks its options and all lines before it opens the table."""

from pathlib import Path

import pytest

from tests.data.bulk_lines import LINES, bulk_file
from tests.service.cli.conftest import Run, error_message


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    (tmp_path / "lines").write_bytes(bulk_file(*LINES.values()).getvalue())
    return tmp_path / "lines"


def test_a_missing_file_is_an_error(run: Run) -> None:
    assert error_message(run("import", "gone", "--tenant", "acme")) == "gone cannot be read: No such file or directory."


def test_a_directory_is_an_error(run: Run, tmp_path: Path) -> None:
    assert "cannot be read: Is a directory." in error_message(run("import", tmp_path, "--tenant", "acme"))


def test_a_bad_line_is_an_error_before_the_table_is_opened(run: Run, lines: Path) -> None:
    lines.write_bytes(lines.read_bytes() + b"{}\n")
    output = error_message(run("import", lines, "--tenant", "acme"))
    assert output.splitlines() == ["line 5, type: is missing", "Nothing was written."]


def test_a_wrong_tenant_id_is_an_error(run: Run, lines: Path) -> None:
    assert error_message(run("import", lines, "--tenant", "ACME")).startswith("--tenant 'ACME' is not a tenant id: ")


def test_without_a_gate_key_nothing_is_created(run: Run, lines: Path, tmp_path: Path) -> None:
    output = error_message(run("import", lines, "--tenant", "acme", "--data", tmp_path / "none"))
    assert output.startswith(f"There is no gate key in {tmp_path / 'none'}. ")
    assert not (tmp_path / "none").exists()


def test_settings_that_cannot_be_parsed_are_named(run: Run, lines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_SESSION_SECONDS", "never")
    assert error_message(run("import", lines, "--tenant", "acme")).startswith("KEYFENCE_SESSION_SECONDS: ")


@pytest.mark.parametrize("rate", ["0", "-1", "fast"])
def test_a_rate_must_be_a_positive_number(run: Run, lines: Path, rate: str) -> None:
    result = run("import", lines, "--tenant", "acme", "--rate", rate)
    assert result.exit_code == 2
    assert "--rate" in result.stderr
