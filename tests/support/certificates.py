"""Authorities and the certificates that they sign, made by `openssl`."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.users import add_user

CONFIG = """
[ca]
default_ca = here
[here]
database = {directory}/index
serial = {directory}/serial
crlnumber = {directory}/crlnumber
new_certs_dir = {directory}
certificate = {directory}/ca.crt
private_key = {directory}/ca.key
default_md = sha256
default_days = 30
default_crl_days = 30
unique_subject = no
copy_extensions = copy
x509_extensions = leaf
policy = any
[any]
commonName = supplied
[leaf]
basicConstraints = CA:false
[req]
distinguished_name = name
[name]
"""
EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def openssl(*arguments: str | Path) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]} failed:\n{done.stderr}")


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates, and keeps its files in a directory."""

    def __init__(self, directory: Path, name: str) -> None:
        directory.mkdir()
        self.directory = directory
        self.config = directory / "config"
        self.config.write_text(CONFIG.format(directory=directory))
        (directory / "index").touch()
        (directory / "serial").write_text("01")
        (directory / "crlnumber").write_text("01")
        self.certificate = directory / "ca.crt"
        subject = ("-subj", f"/CN={name}", "-days", "30")
        ca = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
        key = directory / "ca.key"
        openssl("req", "-x509", *EC, *subject, *ca, "-keyout", key, "-out", self.certificate)

    def sign(self, name: str, *names: str, expired: bool = False) -> Pair:
        """A certificate for a common name and for alternative names, such as `DNS:db.example`."""
        pair, request = self._request(name, *names)
        dates = ("-startdate", "20200101000000Z", "-enddate", "20210101000000Z") if expired else ()
        openssl("ca", "-batch", "-notext", "-config", self.config, *dates, "-in", request, "-out", pair.certificate)
        return pair

    def sign_old(self, name: str) -> Pair:
        """A certificate of X.509's first version, as PostgreSQL's documentation has it made."""
        pair, request = self._request(name)
        ca = ("-CA", self.certificate, "-CAkey", self.directory / "ca.key", "-CAcreateserial")
        openssl("x509", "-req", "-days", "30", *ca, "-in", request, "-out", pair.certificate)
        return pair

    def self_signed(self, name: str, *arguments: str) -> Pair:
        """A certificate that no authority has signed."""
        pair = self._pair(name)
        out = ("-keyout", pair.key, "-out", pair.certificate)
        openssl("req", "-x509", *(arguments or EC), "-subj", f"/CN={name}", "-days", "30", *out)
        return pair

    def revoked(self, *pairs: Pair) -> Path:
        """A list of revocations with these, and those of before."""
        for pair in pairs:
            openssl("ca", "-config", self.config, "-revoke", pair.certificate)
        file = self.directory / "list.crl"
        openssl("ca", "-config", self.config, "-gencrl", "-out", file)
        return file

    def _pair(self, name: str) -> Pair:
        number = len(list(self.directory.glob("*.key")))
        stem = self.directory / f"{number}-{name}"
        return Pair(stem.with_suffix(".crt"), stem.with_suffix(".key"))

    def _request(self, name: str, *names: str) -> tuple[Pair, Path]:
        pair = self._pair(name)
        request = pair.key.with_suffix(".csr")
        alternatives = ("-addext", f"subjectAltName={','.join(names)}") if names else ()
        openssl("req", "-new", *EC, "-subj", f"/CN={name}", *alternatives, "-keyout", pair.key, "-out", request)
        return pair, request


def serve_options(directory: Path, authority: Authority, name: str) -> list[str | Path]:
    """The options of a `colonnade serve` with a certificate for `name` and 127.0.0.1, and with a user `alice`."""
    pair = authority.sign(name, "DNS:localhost", "IP:127.0.0.1")
    shutil.copy(pair.certificate, directory / "server.crt")
    shutil.copy(pair.key, directory / "server.key")
    (directory / "server.key").chmod(0o600)
    add_user(directory / "users", "alice", "secret")
    options = ["--users", directory / "users", "--tls-certificate", directory / "server.crt"]
    return [*options, "--tls-key", directory / "server.key"]
