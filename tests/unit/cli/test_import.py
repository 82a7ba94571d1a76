"""keyfence import says what is wrong before it reaches for anything."""

from pathlib import Path

import pytest

from tests.data.bulk_lines import LINES, encoded

from .conftest import Run, refusal


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    (tmp_path / "lines").write_bytes(encoded(*LINES.values()).getvalue())
    return tmp_path / "lines"


def test_a_file_that_is_not_there_is_said_in_a_sentence(run: Run) -> None:
    assert refusal(run("import", "gone", "--tenant", "acme")) == "gone cannot be read: No such file or directory."


def test_a_directory_is_no_file(run: Run, tmp_path: Path) -> None:
    assert "cannot be read: Is a directory." in refusal(run("import", tmp_path, "--tenant", "acme"))


def test_a_bad_line_is_said_without_reaching_for_the_table(run: Run, lines: Path) -> None:
    lines.write_bytes(lines.read_bytes() + b"{}\n")
    said = refusal(run("import", lines, "--tenant", "acme"))
    assert said.splitlines() == ["line 5, type: is missing", "Nothing was written."]


def test_a_tenant_id_that_is_none_is_said_in_a_sentence(run: Run, lines: Path) -> None:
    assert refusal(run("import", lines, "--tenant", "ACME")).startswith("--tenant 'ACME' is not a tenant id: ")


def test_without_a_gates_key_nothing_is_made(run: Run, lines: Path, tmp_path: Path) -> None:
    said = refusal(run("import", lines, "--tenant", "acme", "--data", tmp_path / "none"))
    assert said.startswith(f"There is no gate key in {tmp_path / 'none'}: ")
    assert not (tmp_path / "none").exists()


def test_settings_that_cannot_be_read_are_named(run: Run, lines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_SESSION_SECONDS", "never")
    assert refusal(run("import", lines, "--tenant", "acme")).startswith("KEYFENCE_SESSION_SECONDS: ")


@pytest.mark.parametrize("rate", ["0", "-1", "fast"])
def test_a_rate_must_be_one(run: Run, lines: Path, rate: str) -> None:
    result = run("import", lines, "--tenant", "acme", "--rate", rate)
    assert result.exit_code == 2
    assert "--rate" in result.stderr
