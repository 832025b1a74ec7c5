"""Certificates of any kind, made as they are needed."""

import datetime
import hashlib
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from testbed import SERVER


@dataclass
class Made:
    chain: Path
    key: Path
    pin: str


def made(folder):
    """What is there already."""
    chain = Path(folder) / "chain.pem"
    if not chain.exists():
        return None
    first = x509.load_pem_x509_certificate(chain.read_bytes())
    return Made(chain, Path(folder) / "key.pem", fingerprint(first))


def fingerprint(certificate):
    return hashlib.sha256(certificate.public_bytes(serialization.Encoding.DER)).hexdigest()


def make(folder, addresses=(SERVER,), names=(), title="bench", days=(-1, 30), more=0, extension=0):
    """Signed by itself. `more`: so many further certificates in the chain; `extension`: bytes of one that nobody knows."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.timezone.utc)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title)])
    alternatives = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses] + [x509.DNSName(one) for one in names]
    builder = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
               .serial_number(x509.random_serial_number())
               .not_valid_before(now + datetime.timedelta(days[0])).not_valid_after(now + datetime.timedelta(days[1])))
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), False)
    if extension:
        unknown = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.55555.1"), bytes(extension))
        builder = builder.add_extension(unknown, False)
    certificate = builder.sign(key, hashes.SHA256())
    folder = Path(folder)
    chain, key_file = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) * (1 + more))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    key_file.write_bytes(key.private_bytes(*form))
    return Made(chain, key_file, fingerprint(certificate))
