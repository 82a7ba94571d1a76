"""The data directory of a development machine: its format, its keys, and the address of its gate.

Every command imports this module, so it imports only light modules itself.
"""

import json
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from keyfence.development_keys import DEVELOPMENT_KEY_PREFIX, new_development_key
from keyfence.errors import KeyfenceError

DEFAULT_DIRECTORY = Path(".keyfence")
EXPORTS = "exports"
"""The folder with the exports of offboarded tenants."""

FORMAT = 2
"""The number of the directory's format. Increase it if the new version cannot use directories of earlier versions."""
FORMAT_FILE = "format"
GATE_KEY_FILE = "gate-key"
CURSOR_KEY_FILE = "cursor-key"
INDEX_KEY_FILE = "index-key"
SIGNING_KEY_FILE = "signing-key"
ISSUER_KEY_FILE = "issuer-key.pem"
GATE_FILE = "gate.json"

_KEY_FILES = (GATE_KEY_FILE, CURSOR_KEY_FILE, INDEX_KEY_FILE, SIGNING_KEY_FILE, ISSUER_KEY_FILE)
_FILES_OF_NEW_DIRECTORY = re.compile(r"\.gitignore|\.format-[0-9a-f]+|dynoxide(-[0-9.]+)?")
"""Files that can exist before the format file: those of an interrupted first start, and the binary of the engine."""
_OTHER_USERS = stat.S_IRWXG | stat.S_IRWXO
"""The permissions of the group and of all other users."""
_DEVELOPMENT_KEY_PATTERN = rf"{DEVELOPMENT_KEY_PREFIX}[A-Za-z0-9_-]{{43}}"


class DirectoryUnusable(KeyfenceError):
    """The data directory cannot be created, written or used by this version."""


class KeyFileUnusable(KeyfenceError):
    """A key file cannot be read or written, or its content is not a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRecord:
    """The gate that was last started on a data directory: its address, and the AWS account and region of its roles."""

    url: str
    account: str
    region: str
    server_url: str | None = None
    """The address of `keyfence dev` itself; None for `keyfence gate`."""


def data_directory(path: Path) -> Path:
    """Creates the directory if it is missing, and returns it. Makes it private, with everything in it.

    Raises DirectoryUnusable if the directory is not writable, has another format, belongs to another user, contains
    files of other programs, or cannot be made private.
    """
    try:
        if not path.is_dir():
            _create_directory(path)
        _check_owner(path)
        check_format(path)
        with tempfile.TemporaryFile(dir=path):
            pass
        _make_private(path)
        _write_format(path)
    except OSError as error:
        raise DirectoryUnusable(f"The data directory {path} cannot be used: {error.strerror or error}.") from error
    return path


def check_format(directory: Path) -> None:
    """Raises DirectoryUnusable if the directory has another format than FORMAT, or is no data directory.

    An empty directory has no format yet and is accepted. The files are listed before the format is read: another
    process that uses a new directory writes the format first.
    """
    names = sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []
    foreign_names = [name for name in names if not _FILES_OF_NEW_DIRECTORY.fullmatch(name)]
    stored_format = _read_format(directory)
    if stored_format is None and not foreign_names:
        return
    if stored_format is None and not set(foreign_names) & set(_KEY_FILES):
        raise DirectoryUnusable(
            f"The directory {directory} is not a data directory of Keyfence: it has no file {FORMAT_FILE}, but contains"
            f" {foreign_names[0]}. Choose an empty or a new directory with --data."
        )
    if stored_format != str(FORMAT):
        raise DirectoryUnusable(
            f"Another version of Keyfence created the data directory {directory}: it has format {stored_format or 0},"
            f" and this version needs format {FORMAT}. Delete the directory to start again with the demo"
            " data, or choose another one with --data."
        )


@contextmanager
def atomic_file(path: Path, *, overwrite: bool = True, mode: int = 0o600) -> Iterator[BinaryIO]:
    """Yields a temporary file. At the end of the `with` block, the file is flushed to the disk and renamed to `path`.

    If the block raises an error, the temporary file is deleted. With overwrite=False, a file that already exists at
    `path` is kept.
    """
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            temporary.replace(path)
        else:
            with suppress(FileExistsError):
                os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def cursor_key(directory: Path) -> str:
    return _load_text_key(directory, CURSOR_KEY_FILE, "a cursor key", _DEVELOPMENT_KEY_PATTERN, new_development_key)


def index_key(directory: Path) -> str:
    return _load_text_key(directory, INDEX_KEY_FILE, "an index key", _DEVELOPMENT_KEY_PATTERN, new_development_key)


def signing_key(directory: Path) -> str:
    return _load_text_key(directory, SIGNING_KEY_FILE, "a signing key", _DEVELOPMENT_KEY_PATTERN, new_development_key)


def gate_key(directory: Path) -> bytes:
    """Returns the 32 bytes from which a gate derives the keys of sessions. All gates on this directory use them."""
    return bytes.fromhex(
        _load_text_key(directory, GATE_KEY_FILE, "a gate key", "[0-9a-f]{64}", lambda: secrets.token_hex(32))
    )


def load_or_create_key(directory: Path, file_name: str, create: Callable[[], bytes]) -> bytes:
    """Returns the content of a key file. If the file is missing, writes the key that `create` returns.

    If two processes create the file at the same time, both return the key of the first process.
    Raises KeyFileUnusable if the file cannot be read or written.
    """
    path = directory / file_name
    try:
        if not path.exists():
            _write_format(directory)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with atomic_file(path, overwrite=False) as file:
                file.write(create())
        return path.read_bytes()
    except OSError as error:
        raise KeyFileUnusable(f"The key file {path} cannot be used: {error.strerror or error}.") from error


def corrupt_key_file(path: Path, expected: str) -> KeyFileUnusable:
    return KeyFileUnusable(
        f"The key file {path} does not contain {expected}. Delete the file: a new key will be created."
    )


def save_gate_record(directory: Path, record: GateRecord) -> None:
    with atomic_file(directory / GATE_FILE) as file:
        file.write(json.dumps(asdict(record), indent=2).encode() + b"\n")


def find_gate_record(directory: Path) -> GateRecord | None:
    """Returns the record of the last gate, or None if the record is missing or damaged."""
    try:
        return GateRecord(**json.loads((directory / GATE_FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _create_directory(path: Path) -> None:
    """Creates a directory that only the owner can read and that git ignores, because it will contain private keys."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    (path / ".gitignore").write_text("*\n")


def _check_owner(directory: Path) -> None:
    owner = directory.stat().st_uid
    if owner != os.geteuid():
        raise DirectoryUnusable(
            f"The data directory {directory} belongs to another user, with the id {owner}. Run the command as that"
            " user, or choose another directory with --data."
        )


def _make_private(directory: Path) -> None:
    """Takes the permissions of all other users away, from the directory and from everything in it.

    Earlier versions let others read the database. Links are not followed.
    """
    for folder, _, names in os.walk(directory, onerror=_raise_error):
        files = (Path(folder, name) for name in names)
        for path in (Path(folder), *(file for file in files if not file.is_symlink())):
            try:
                _remove_permissions_of_others(path)
            except FileNotFoundError:
                continue  # a temporary file of a running process can disappear at any time
            except OSError as error:
                raise DirectoryUnusable(
                    f"{path} can be read by others, and its mode cannot be changed: {error.strerror or error}. Run"
                    f" `chmod -R go= {directory}` as the owner of the files, or choose another directory with --data."
                ) from error


def _remove_permissions_of_others(path: Path) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _OTHER_USERS:
        path.chmod(mode & ~_OTHER_USERS)


def _raise_error(error: OSError) -> None:
    raise error


def _write_format(directory: Path) -> None:
    """Writes the format file if it is missing. Raises DirectoryUnusable if the directory has another format."""
    check_format(directory)
    if _read_format(directory) is None:
        with atomic_file(directory / FORMAT_FILE) as file:
            file.write(b"%d\n" % FORMAT)


def _read_format(directory: Path) -> str | None:
    try:
        return (directory / FORMAT_FILE).read_text(errors="replace").strip()
    except FileNotFoundError:
        return None


def _load_text_key(directory: Path, file_name: str, description: str, pattern: str, create: Callable[[], str]) -> str:
    """Returns the key in a text file. If the file is missing, writes the key that `create` returns.

    Raises KeyFileUnusable if the text does not match `pattern`. The error message contains `description`.
    """
    content = load_or_create_key(directory, file_name, lambda: create().encode() + b"\n")
    text = content.decode("ascii", errors="replace").strip()
    if not re.fullmatch(pattern, text):
        raise corrupt_key_file(directory / file_name, description)
    return text
