"""A certificate and its key for https, looked at before anything listens."""

from __future__ import annotations

import ssl
from pathlib import Path


def check_pair(cert: Path | None, key: Path | None) -> None:
    """Raises ValueError, which names the file, unless the two make an https server.

    ``cert`` is a PEM file with the chain, the server's own certificate first; ``key`` is its
    private key without a passphrase, None if it stands in the same file.
    """
    if cert is None:
        if key is not None:
            raise ValueError(f"--tls-key {key} needs its certificate as well: --tls-cert FILE")
        return
    for option, path in (("--tls-cert", cert), ("--tls-key", key)):
        if path is not None:
            _read(option, path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key, password=_no_passphrase)
    except _Encrypted:
        raise ValueError(
            f"--tls-key {key or cert} has a passphrase, which nobody is here to type; give a key "
            "without one that only you can read"
        ) from None
    except ssl.SSLError as error:
        raise ValueError(_why(cert, key, error)) from None


def _read(option: str, path: Path) -> None:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{option} {path} cannot be read: {error.strerror or error}") from None
    if b"-----BEGIN " not in text:
        raise ValueError(f"{option} {path} is no PEM file: no line in it begins with -----BEGIN")


def _why(cert: Path, key: Path | None, error: ssl.SSLError) -> str:
    if "MISMATCH" in (error.reason or ""):
        return f"--tls-key {key or cert} is not the key of the certificate --tls-cert {cert}"
    if key is None:
        return f"--tls-cert {cert} holds no certificate with its key; name the key with --tls-key"
    return f"--tls-cert {cert} and --tls-key {key} are no certificate and key: {error.reason}"


class _Encrypted(Exception):
    """OpenSSL asked for a passphrase."""


def _no_passphrase() -> str:
    raise _Encrypted
