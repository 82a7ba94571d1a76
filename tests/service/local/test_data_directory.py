"""The data directory is private, has a format number, keeps its keys, and remembers its gate."""

import json
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from keyfence.local.data_directory import (
    CURSOR_KEY_FILE,
    FORMAT,
    FORMAT_FILE,
    GATE_FILE,
    GATE_KEY_FILE,
    INDEX_KEY_FILE,
    SIGNING_KEY_FILE,
    DirectoryUnusable,
    GateRecord,
    KeyFileUnusable,
    atomic_file,
    check_format,
    cursor_key,
    data_directory,
    find_gate_record,
    gate_key,
    index_key,
    load_or_create_key,
    save_gate_record,
    signing_key,
)

LOADERS_BY_FILE: dict[str, Callable[[Path], object]] = {
    CURSOR_KEY_FILE: cursor_key,
    INDEX_KEY_FILE: index_key,
    SIGNING_KEY_FILE: signing_key,
    GATE_KEY_FILE: gate_key,
}
RECORD = GateRecord(url="http://127.0.0.1:8001", account="000000000000", region="us-east-1", server_url="http://s:1")


def disk_full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_new_directory_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    directory = data_directory(tmp_path / "a" / "b")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert (directory / ".gitignore").read_text() == "*\n"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_an_empty_directory_becomes_private_and_gets_a_format_number(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    data_directory(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [FORMAT_FILE]
    assert mode(tmp_path) == 0o700


def test_everything_in_a_data_directory_that_others_could_read_becomes_private(tmp_path: Path) -> None:
    directory = data_directory(tmp_path / "data")
    (directory / "exports").mkdir()
    readable = [directory / name for name in ("keyfence.db", "keyfence.db-wal", "gate-key", "exports/acme.jsonl.gz")]
    for path in readable:
        path.touch()
        path.chmod(0o664)
    program = directory / "dynoxide-1.2.1"
    program.touch()
    for path in (program, directory / "exports", directory):
        path.chmod(0o755)
    data_directory(directory)
    assert {path.name: oct(mode(path)) for path in readable} == {path.name: "0o600" for path in readable}
    assert [oct(mode(path)) for path in (program, directory / "exports", directory)] == ["0o700"] * 3


def test_a_link_in_the_directory_is_not_followed(tmp_path: Path) -> None:
    directory = data_directory(tmp_path / "data")
    outside, folder = tmp_path / "program", tmp_path / "folder"
    folder.mkdir()
    for path in (outside, folder / "file"):
        path.touch()
        path.chmod(0o755)
    (directory / "dynoxide").symlink_to(outside)
    (directory / "folder").symlink_to(folder)
    (directory / "nowhere").symlink_to(tmp_path / "missing")
    data_directory(directory)
    assert (mode(outside), mode(folder / "file")) == (0o755, 0o755)


def test_a_file_that_disappears_meanwhile_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = data_directory(tmp_path)
    monkeypatch.setattr("os.walk", lambda *_, **__: [(str(directory), [], ["keyfence.db-wal"])])
    assert data_directory(directory) == directory


@pytest.mark.parametrize("name", ["notes.txt", "keyfence.db", ".bashrc", "folder"])
def test_a_directory_with_files_of_other_programs_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir() if name == "folder" else (tmp_path / name).touch()
    tmp_path.chmod(0o755)
    message = f"The directory .* is not a data directory of Keyfence: it has no file format, but contains {name}"
    for use in (data_directory, gate_key):
        with pytest.raises(DirectoryUnusable, match=f"{message}. Choose an empty or a new directory with --data"):
            use(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert mode(tmp_path) == 0o755


@pytest.mark.parametrize("name", [".gitignore", ".format-0a1b2c3d", "dynoxide", "dynoxide-1.2.1"])
def test_a_directory_whose_first_start_was_interrupted_is_accepted(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert (data_directory(tmp_path) / FORMAT_FILE).exists()


def test_a_directory_of_another_user_is_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = data_directory(tmp_path / "data")
    directory.chmod(0o755)
    owner = directory.stat().st_uid
    monkeypatch.setattr("os.geteuid", lambda: owner + 1)
    message = f"belongs to another user, with the id {owner}. Run the command as that user, or choose another directory"
    with pytest.raises(DirectoryUnusable, match=message):
        data_directory(directory)
    assert mode(directory) == 0o755


def test_a_file_that_cannot_be_made_private_is_an_error_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    directory = data_directory(tmp_path / "data")
    (directory / "keyfence.db").touch()
    (directory / "keyfence.db").chmod(0o644)
    monkeypatch.setattr("pathlib.Path.chmod", refuse)
    with pytest.raises(
        DirectoryUnusable, match=r"keyfence\.db can be read by others, and its mode cannot be changed"
    ) as error:
        data_directory(directory)
    assert f"Run `chmod -R go= {directory}` as the owner of the files, or choose another directory" in str(error.value)


def test_a_file_with_the_name_of_the_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DirectoryUnusable, match=r"The data directory .*/file cannot be used: File exists\."):
        data_directory(tmp_path / "file")


def test_a_path_where_no_directory_can_be_created_is_an_error() -> None:
    with pytest.raises(DirectoryUnusable, match="cannot be used"):
        data_directory(Path("/proc/keyfence"))


def test_a_directory_that_cannot_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(DirectoryUnusable, match="Permission denied"):
        data_directory(tmp_path)


@pytest.mark.parametrize("name", LOADERS_BY_FILE)
def test_a_directory_with_keys_and_no_format_number_is_refused_as_an_older_version(tmp_path: Path, name: str) -> None:
    LOADERS_BY_FILE[name](tmp_path)
    (tmp_path / FORMAT_FILE).unlink()
    with pytest.raises(DirectoryUnusable, match=f"has format 0, and this version needs format {FORMAT}. Delete"):
        data_directory(tmp_path)
    with pytest.raises(DirectoryUnusable, match="or choose another one with --data"):
        check_format(tmp_path)


@pytest.mark.parametrize("content", [str(FORMAT + 1), "0", "", "garbage"])
def test_a_directory_of_another_format_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    (tmp_path / FORMAT_FILE).write_text(content)
    with pytest.raises(DirectoryUnusable, match="Another version of Keyfence created the data directory"):
        data_directory(tmp_path)
    with pytest.raises(DirectoryUnusable, match="Another version of Keyfence created the data directory"):
        gate_key(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [FORMAT_FILE]


def test_a_directory_of_this_format_is_accepted(tmp_path: Path) -> None:
    gate_key(data_directory(tmp_path))
    check_format(tmp_path)
    assert data_directory(tmp_path) == tmp_path


@pytest.mark.parametrize("name", LOADERS_BY_FILE)
def test_a_key_is_private_and_is_loaded_the_second_time(tmp_path: Path, name: str) -> None:
    key = LOADERS_BY_FILE[name](tmp_path)
    assert LOADERS_BY_FILE[name](tmp_path) == key
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


@pytest.mark.parametrize("name", LOADERS_BY_FILE)
def test_two_directories_have_two_keys(tmp_path: Path, name: str) -> None:
    first, second = (data_directory(tmp_path / folder) for folder in ("first", "second"))
    assert LOADERS_BY_FILE[name](first) != LOADERS_BY_FILE[name](second)


def test_keys_that_production_refuses_are_marked_and_the_gate_key_has_32_bytes(tmp_path: Path) -> None:
    assert cursor_key(tmp_path).startswith("dev-")
    assert index_key(tmp_path).startswith("dev-")
    assert signing_key(tmp_path).startswith("dev-")
    assert len(gate_key(tmp_path)) == 32


@pytest.mark.parametrize("content", [b"", b"dev-", b"dev-short", b"\xff" * 47, b"A" * 47, b"g" * 64], ids=repr)
@pytest.mark.parametrize("name", LOADERS_BY_FILE)
def test_a_corrupt_key_file_is_an_error_with_advice(tmp_path: Path, name: str, content: bytes) -> None:
    data_directory(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(KeyFileUnusable, match=f"{name} does not contain an? {name.replace('-', ' ')}. Delete the file"):
        LOADERS_BY_FILE[name](tmp_path)


def test_threads_that_create_a_key_at_the_same_time_all_get_the_same_key(tmp_path: Path) -> None:
    barrier = Barrier(8)

    def create(number: int) -> bytes:
        barrier.wait()
        return b"key %d" % number

    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda number: load_or_create_key(tmp_path, "key", lambda: create(number)), range(8)))
    assert len(keys) == 1
    assert {path.name for path in tmp_path.iterdir()} == {FORMAT_FILE, "key"}


def test_a_key_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_directory(tmp_path)
    monkeypatch.setattr("os.link", disk_full)
    with pytest.raises(KeyFileUnusable, match="No space left"):
        load_or_create_key(tmp_path, "key", lambda: b"x")
    assert [path.name for path in tmp_path.iterdir()] == [FORMAT_FILE]


def test_a_key_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir()
    with pytest.raises(KeyFileUnusable, match="Is a directory"):
        load_or_create_key(tmp_path, "key", lambda: b"x")


@pytest.mark.parametrize("failing", ["os.fsync", "pathlib.Path.replace"])
def test_a_file_is_written_completely_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    monkeypatch.setattr(failing, disk_full)
    with pytest.raises(OSError, match="No space left"), atomic_file(path) as file:
        file.write(b"after")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"before")]


def test_a_file_whose_writer_fails_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(UnicodeEncodeError), atomic_file(path) as file:
        file.writelines(text.encode("ascii") for text in ("half", "\u00e9"))
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"before")]


def test_the_gate_that_was_started_last_is_remembered(tmp_path: Path) -> None:
    assert find_gate_record(tmp_path) is None
    save_gate_record(tmp_path, GateRecord(url="http://127.0.0.1:1", account="1", region="r"))
    save_gate_record(tmp_path, RECORD)
    assert find_gate_record(tmp_path) == RECORD


@pytest.mark.parametrize("content", ["", "{", "[]", '{"url": "http://127.0.0.1:1"}', json.dumps({"other": 1})])
def test_a_damaged_gate_record_counts_as_missing(tmp_path: Path, content: str) -> None:
    (tmp_path / GATE_FILE).write_text(content)
    assert find_gate_record(tmp_path) is None
