"""A certificate authority for one test."""

import ipaddress
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


@dataclass
class CertificateAuthority:
    directory: Path
    name: str = "the authority of a test"
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def client_context(self) -> ssl.SSLContext:
        """Returns the context of a client that trusts this authority and no other."""
        return ssl.create_default_context(cadata=self._own_certificate().decode())

    def certificate_file(self) -> Path:
        """Returns a file with the certificate of this authority, in PEM."""
        path = self.directory / "authority.pem"
        path.write_bytes(self._own_certificate())
        return path

    def server_context(self, name: str) -> ssl.SSLContext:
        """Returns the context of a server with a certificate for this host name or address."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign_certificate(
            _common_name(name), key, x509.SubjectAlternativeName([_alternative_name(name)])
        )
        path = self.directory / f"{name.replace(':', '-')}.pem"
        private_key = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.write_bytes(private_key + certificate.public_bytes(Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _own_certificate(self) -> bytes:
        extension = x509.BasicConstraints(ca=True, path_length=None)
        return self._sign_certificate(_common_name(self.name), self.key, extension).public_bytes(Encoding.PEM)

    def _sign_certificate(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(_common_name(self.name))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
            .sign(self.key, SHA256())
        )


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
