"""The certificate that a tenant is gone: what was exported and purged, by whom and when, and a signature on it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from keyfence.errors import BadInput, Conflict
from keyfence.operations.offboarding.export_file import SUFFIX, Damaged, Proof, proof
from keyfence.operations.offboarding.signer import Signer, Verifier
from keyfence.store.template import instant
from keyfence.tenancy.offboarding import Job

ISSUER = "keyfence"
PROVEN = {"lines": "exported", "head": "head", "size": "size", "sha256": "sha256"}


def certificate(job: Job, found: Proof, table: str, signer: Signer) -> str:
    """JSON text with the claims, for people, and with the same claims signed."""
    claims = {
        "iss": ISSUER,
        "tenant": job.tenant,
        "job": job.id,
        "table": table,
        "silo": job.silo,
        "operator": job.by,
        "export": job.export,
        **{claim: getattr(found, name) for name, claim in PROVEN.items()},
        "purged": job.purged,
        "rounds": job.round,
        "startedAt": instant(job.created_at),
        "finishedAt": instant(job.finished_at) if job.finished_at else None,
    }
    whole = {"claims": claims, "key": signer.verifier.kid, "signed": signer.sign(claims)}
    return orjson.dumps(whole, option=orjson.OPT_INDENT_2).decode()


def certificate_file(directory: Path, export: str) -> Path:
    return directory / f"{export.removesuffix(SUFFIX)}.certificate.json"


def checked(text: str | bytes, by: Verifier) -> Mapping[str, Any]:
    """The claims of a certificate; what it shows to people has to be what was signed."""
    try:
        read = _members(text)
        shown, signed = read["claims"], str(read["signed"])
    except (ValueError, RecursionError) as error:
        raise BadInput("this is not a certificate of an offboarding") from error
    claims = by.claims(signed)
    if orjson.dumps(claims, option=orjson.OPT_SORT_KEYS) != orjson.dumps(shown, option=orjson.OPT_SORT_KEYS):
        raise Conflict("what the certificate shows is not what was signed")
    return claims


def _members(text: str | bytes) -> Mapping[str, Any]:
    """Without a name twice, of which people would see one and machines the other."""
    read = json.loads(text, object_pairs_hook=_once)
    if not isinstance(read, dict) or set(read) != {"claims", "key", "signed"}:
        raise ValueError("a certificate has claims, a key and a signature")
    return read


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name stands there twice")
    return dict(pairs)


def compare(claims: Mapping[str, Any], export: Path) -> None:
    """Whether this is the file that the certificate speaks of; Damaged with the first line that is not its own."""
    found = proof(export, str(claims["export"]))
    if found.lines < claims["exported"]:
        raise Damaged(f"{export} ends after line {found.lines:,} of {claims['exported']:,}", line=found.lines + 1)
    if found.lines > claims["exported"]:
        line = claims["exported"] + 1
        raise Damaged(f"{export} goes on after its last line: line {line:,} was never exported", line=line)
    if found.head != claims["head"]:
        raise Damaged(f"the lines of {export} fit each other and not the certificate: they were made anew", line=1)
    if (found.size, found.sha256) != (claims["size"], claims["sha256"]):
        raise Damaged(f"{export} holds the right lines in other bytes than were certified", line=None)
