"""`keyfence tenant verify`: checks the certificate of an offboarding, and the export that belongs to it."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.file_arguments import read_file_argument
from keyfence.cli.table_connection import DataOption, JsonOption, command_settings
from keyfence.errors import BadInput
from keyfence.local.data_directory import DEFAULT_DIRECTORY

if TYPE_CHECKING:
    from keyfence.jobs.offboard.certificate import CertificateVerifier

CertificateFileArgument = Annotated[
    Path,
    typer.Argument(metavar="CERTIFICATE", help="The certificate, which `keyfence tenant offboard` wrote."),
]
ExportOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The export. Default: the file that the certificate names, in the certificate's folder."
    ),
]
KeyOption = Annotated[
    str | None,
    typer.Option(
        metavar="KEY",
        help="The public key in PEM or base64, or a file with it. Default: the key of KEYFENCE_SIGNING_KEY or --data.",
    ),
]
WithoutExportOption = Annotated[
    bool, typer.Option("--without-export", help="Check only the certificate, if the export no longer exists.")
]


def verify(
    certificate: CertificateFileArgument,
    export: ExportOption = None,
    without_export: WithoutExportOption = False,
    key: KeyOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
) -> None:
    """Check the signature of an offboarding certificate, and each line of the export against the certificate.

    If a check fails or the export is missing, the command exits with 1. It names the first line that differs. It needs
    no gate and no access to AWS.

    [bold]Example:[/bold] keyfence tenant verify exports/acme-01M7HHHGKHN6S6V7032B0W8CKZ.certificate.json

    [bold]Example:[/bold] keyfence tenant verify acme.certificate.json --export acme.jsonl.gz --key key.pem
    """
    from keyfence.jobs.offboard.certificate import compare_export, verify_certificate

    if export and without_export:
        raise BadInput("--export and --without-export exclude each other; use one of them.")
    verifier = _verifier(key, data)
    claims = verify_certificate(read_file_argument(str(certificate)), verifier)
    export_file = export or certificate.parent / str(claims["export"])
    if not without_export:
        _check_exists(export_file)
        compare_export(claims, export_file)
    if json:
        typer.echo(json_module.dumps({**claims, "key": verifier.kid, "exportChecked": not without_export}))
        return
    typer.echo(f"The certificate is signed with the key {verifier.kid}.")
    typer.echo(f"{claims['exported']:,} items of {claims['tenant']} were exported and {claims['purged']:,} purged,")
    typer.echo(f"by {claims['operator']}. The offboarding finished at {claims['finishedAt']}.")
    typer.echo("The export was not checked." if without_export else f"Every line of {export_file} is unchanged.")


def _check_exists(export_file: Path) -> None:
    if not export_file.is_file():
        raise BadInput(
            f"{export_file} does not exist. Name the export with --export, or check only the certificate with"
            " --without-export."
        )


def _verifier(key: str | None, data: Path) -> "CertificateVerifier":
    """Returns a verifier for the key of the option, of the settings, or of the data directory, in this order.

    The key is never read from the certificate: anyone could write a certificate with a key of their own.
    """
    from keyfence.jobs.offboard.certificate import parse_signer, parse_verifier
    from keyfence.local.data_directory import SIGNING_KEY_FILE, signing_key

    if key is not None:
        return parse_verifier(read_file_argument(key).decode(errors="replace") if _is_file(key) else key)
    if private_key := command_settings().signing_key:
        return parse_signer(private_key.get_secret_value()).verifier
    if (data / SIGNING_KEY_FILE).is_file():
        return parse_signer(signing_key(data)).verifier
    raise BadInput(
        "There is no key: name the public key with --key, or the data directory of `keyfence dev` with --data."
    )


def _is_file(text: str) -> bool:
    """Returns whether the text is the path of a file. A key can be too long for a path: then Python raises OSError."""
    try:
        return Path(text).is_file()
    except OSError:
        return False
