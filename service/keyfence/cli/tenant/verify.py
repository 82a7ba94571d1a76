"""keyfence tenant verify: whether a certificate of an offboarding is genuine, and its export what it was."""

import json as plain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.table_connection import Data, Json
from keyfence.errors import BadInput
from keyfence.local.data_directory import DEFAULT

if TYPE_CHECKING:
    from keyfence.jobs.offboard.certificate import CertificateVerifier
    from keyfence.settings import Settings

CertificateFile = Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="The file beside the export.")]
Export = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The export; the one beside the certificate if left out.")
]
Key = Annotated[
    str | None,
    typer.Option(
        metavar="KEY", help="The public key, as PEM or base64, or its file; that of KEYFENCE_SIGNING_KEY or --data."
    ),
]

Alone = Annotated[bool, typer.Option("--without-export", help="Check the certificate alone, where the export is gone.")]


def verify(
    certificate: CertificateFile,
    export: Export = None,
    without_export: Alone = False,
    key: Key = None,
    json: Json = False,
    data: Data = DEFAULT,
) -> None:
    """Check the signature of a certificate, and every line of the export against it.

    It ends with exit code 1 where something is wrong, and names the first line that is not what was exported. An
    export that is not there is wrong too, unless the certificate is to be checked without it.

    [bold]Example:[/bold] keyfence tenant verify exports/acme-01M7HHHGKHN6S6V7032B0W8CKZ.certificate.json

    [bold]Example:[/bold] keyfence tenant verify acme.certificate.json --export acme.jsonl.gz --key key.pem
    """
    from keyfence.jobs.offboard.certificate import compare_export, verify_certificate

    if export and without_export:
        raise BadInput("--export names what --without-export leaves out: give one of them.")
    verifier = _verifier(key, data)
    claims = verify_certificate(_read(certificate), verifier)
    beside = export or certificate.parent / str(claims["export"])
    if not without_export:
        _check_there(beside)
        compare_export(claims, beside)
    if json:
        typer.echo(plain.dumps({**claims, "key": verifier.kid, "exportChecked": not without_export}))
        return
    typer.echo(f"Signed with the key {verifier.kid}: {claims['exported']:,} items of {claims['tenant']} were exported")
    typer.echo(f"and {claims['purged']:,} purged, by {claims['operator']}, until {claims['finishedAt']}.")
    typer.echo("The export was not looked at." if without_export else f"Every line of {beside} is as it was.")


def _check_there(export: Path) -> None:
    if not export.is_file():
        raise BadInput(
            f"{export} is not here. Name the export with --export, or check the certificate with --without-export."
        )


def _verifier(key: str | None, data: Path) -> "CertificateVerifier":
    """The key is never taken from the certificate, which would vouch for itself."""
    from keyfence.jobs.offboard.certificate import signer, verifier
    from keyfence.local.data_directory import SIGNING_KEY_FILE, signing_key

    if key is not None:
        return verifier(_read(Path(key)).decode(errors="replace") if _is_file(key) else key)
    if given := _settings().signing_key:
        return signer(given.get_secret_value()).verifier
    if (data / SIGNING_KEY_FILE).is_file():
        return signer(signing_key(data)).verifier
    raise BadInput("Name the public key with --key, or the directory of `keyfence dev` with --data.")


def _settings() -> "Settings":
    from keyfence.settings import BadSettings, load

    try:
        return load()
    except BadSettings as error:
        raise BadInput(str(error)) from error


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:
        return False


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}.") from error
