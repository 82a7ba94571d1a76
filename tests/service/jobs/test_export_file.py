"""A changed export file is detected, and the error names the first wrong line."""

import gzip
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from keyfence.errors import Conflict
from keyfence.jobs.offboard.certificate import compare_export, verify_certificate
from keyfence.jobs.offboard.export_file import (
    BadLine,
    ExportDamaged,
    ExportFile,
    chain_lines,
    digest_export,
    initial_hash,
    key_of,
    read_lines,
    verify_line,
)
from keyfence.store.codec import Item
from tests.service.jobs.sample_export import EXPORT, SIGNER, certified, item, written

Tampering = Callable[[list[bytes]], list[bytes]]


def lines_of(path: Path) -> list[bytes]:
    return gzip.decompress(path.read_bytes()).splitlines(keepends=True)


def rebuilt(lines: list[bytes]) -> bytes:
    return gzip.compress(b"".join(lines), mtime=0)


def with_new_hashes(lines: list[bytes]) -> list[bytes]:
    """Changes one item and computes all hashes again, as an attacker does who knows the format."""
    changed: list[Item] = [item(at) for at in range(len(lines))]
    changed[2]["name"] = {"S": "forged"}
    return chain_lines(initial_hash(EXPORT), changed)[1].splitlines(keepends=True)


TAMPERINGS: dict[str, tuple[Tampering, str, int | None]] = {
    "changed": (lambda lines: [*lines[:4], lines[4].replace(b"thing", b"thong"), *lines[5:]], "line 5 of", 5),
    "hash changed": (lambda lines: [lines[0].replace(b'"hash":"', b'"hash":"0', 1), *lines[1:]], "line 1 of", 1),
    "dropped": (lambda lines: [*lines[:3], *lines[4:]], "line 4 of", 4),
    "first dropped": (lambda lines: lines[1:], "line 1 of", 1),
    "last dropped": (lambda lines: lines[:-1], "ends after line 9 of 10", 10),
    "swapped": (lambda lines: [*lines[:6], lines[7], lines[6], *lines[8:]], "line 7 of", 7),
    "twice": (lambda lines: [*lines[:3], lines[2], *lines[3:]], "line 4 of", 4),
    "appended": (lambda lines: [*lines, chain_lines("00" * 32, [item(99)])[1]], "line 11 of", 11),
    "blank": (lambda lines: [*lines[:5], lines[5].replace(b'","item":', b'", "item":'), *lines[6:]], "line 6 of", 6),
    "name changed": (lambda lines: [*lines[:2], lines[2].replace(b'{"hash"', b'{"HASH"'), *lines[3:]], "line 3 of", 3),
    "no newline": (lambda lines: [*lines[:-1], lines[-1].rstrip()], "line 10 of", 10),
    "made anew": (with_new_hashes, "the file was written again", 1),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_the_error_for_a_tampered_export_names_its_first_wrong_line(tmp_path: Path, name: str) -> None:
    claims, path = certified(tmp_path)
    compare_export(claims, path)
    tamper, words, line = TAMPERINGS[name]
    path.write_bytes(rebuilt(tamper(lines_of(path))))
    with pytest.raises(ExportDamaged, match=words) as damage:
        compare_export(claims, path)
    assert damage.value.extensions["line"] == line


def test_an_added_line_is_rejected_even_if_it_continues_the_chain(tmp_path: Path) -> None:
    claims, path = certified(tmp_path)
    _, more = chain_lines(str(claims["chainHash"]), [item(10)])
    path.write_bytes(path.read_bytes() + gzip.compress(more, mtime=0))
    with pytest.raises(ExportDamaged, match="more lines than were certified, from line 11 on"):
        compare_export(claims, path)


@pytest.mark.parametrize(
    ("tamper", "words"),
    [
        (lambda content: content[:-5], "cannot be read from line"),
        (lambda content: content[: len(content) // 2], "cannot be read from line"),
        (lambda content: content + gzip.compress(b"", mtime=0), "other bytes than were certified"),
        (lambda content: content + b"\0", "other bytes than were certified"),
        (lambda content: content + b"more", "cannot be read from line 11"),
        (lambda content: content[:40] + bytes([content[40] ^ 1]) + content[41:], "line"),
        (lambda content: gzip.compress(gzip.decompress(content), mtime=1), "other bytes than were certified"),
        (lambda content: b"", "ends after line 0 of 10"),
    ],
)
def test_a_file_with_other_bytes_than_were_certified_is_rejected(
    tmp_path: Path, tamper: Callable[[bytes], bytes], words: str
) -> None:
    claims, path = certified(tmp_path)
    path.write_bytes(tamper(path.read_bytes()))
    with pytest.raises(ExportDamaged, match=words):
        compare_export(claims, path)


def test_lines_of_one_export_do_not_fit_into_another(tmp_path: Path) -> None:
    claims, path = certified(tmp_path)
    _, lines = chain_lines(initial_hash("another"), [item(at) for at in range(10)])
    path.write_bytes(gzip.compress(lines, mtime=0))
    with pytest.raises(ExportDamaged, match="line 1 of"):
        compare_export(claims, path)


def test_a_line_is_read_back_with_the_key_of_its_item() -> None:
    given: Item = {"PK": {"S": 'quote " } \n'}, "SK": {"S": "é😀"}, "b": {"B": "AAEC"}, "n": {"N": "1.50"}}
    head, lines = chain_lines(initial_hash(EXPORT), [given])
    (line,) = lines.splitlines(keepends=True)
    after, text = verify_line(initial_hash(EXPORT), line)
    assert after == head
    assert key_of(text) == {"PK": given["PK"], "SK": given["SK"]}
    with pytest.raises(BadLine):
        verify_line(head, line)


def test_bytes_that_a_crashed_worker_wrote_after_the_checkpoint_are_replaced(tmp_path: Path) -> None:
    file = ExportFile(tmp_path / EXPORT)
    file.open()
    head, first = chain_lines(initial_hash(EXPORT), [item(0)])
    safe = file.append(0, first)
    file.append(safe, secrets.token_bytes(5000))
    _, second = chain_lines(head, [item(1)])
    size = file.append(safe, second)
    file.close()
    assert digest_export(file.path, EXPORT).size == size
    assert [key_of(text)["PK"]["S"][-5:] for _, text in read_lines(file.path, EXPORT)] == ["00000", "00001"]


def test_a_file_that_is_shorter_than_the_checkpoint_is_not_continued(tmp_path: Path) -> None:
    path = written(tmp_path)
    file = ExportFile(path)
    file.open()
    with pytest.raises(ExportDamaged, match="bytes where"):
        file.append(path.stat().st_size + 1, b"")
    file.close()


def test_one_process_at_a_time_writes_an_export(tmp_path: Path) -> None:
    first, second = ExportFile(tmp_path / EXPORT), ExportFile(tmp_path / EXPORT)
    first.open()
    with pytest.raises(Conflict, match="another process is writing"):
        second.open()
    first.close()
    second.open()
    second.close()


def test_only_the_owner_of_the_process_can_read_an_export(tmp_path: Path) -> None:
    file = ExportFile(tmp_path / "new" / EXPORT)
    file.open()
    file.close()
    assert (file.path.stat().st_mode & 0o777, file.path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_directory_that_cannot_be_written_raises_a_conflict(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(Conflict, match="cannot be written"):
        ExportFile(tmp_path / "taken" / EXPORT).open()


def test_a_standard_gzip_reader_reads_an_export(tmp_path: Path) -> None:
    path = written(tmp_path)
    command = [sys.executable, "-m", "gzip", "-d", str(path)]
    subprocess.run(command, check=True)
    assert len(path.with_suffix("").read_bytes().splitlines()) == 10


def test_the_certified_claims_contain_the_numbers_of_exported_and_purged_items(tmp_path: Path) -> None:
    claims, _ = certified(tmp_path)
    assert claims["exported"] == claims["purged"] == 10
    assert verify_certificate((tmp_path / "certificate").read_bytes(), SIGNER.verifier) == claims
