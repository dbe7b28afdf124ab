"""https by a certificate of one's own: what is served, and which files are refused."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest
from conftest import CASE, Serve
from pydantic import SecretStr
from test_run_on_a_page import Working, fa2, introduce, problem

from server.cli_serve import page_url
from server.errors import CaseError
from server.settings import Settings

OPENSSL = shutil.which("openssl")
TOKEN = "t" * 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """cert.pem and key.pem for 127.0.0.1, both.pem, locked.key, and other.key of nobody."""
    if OPENSSL is None:
        pytest.skip("no openssl program to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*words: str) -> None:
        subprocess.run([OPENSSL, *words], cwd=folder, check=True, capture_output=True)

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost")
    openssl("req", "-x509", *curve, "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", *names)
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "other.key")
    openssl("ec", "-in", "key.pem", "-aes128", "-passout", "pass:x", "-out", "locked.key")
    both = (folder / "cert.pem").read_text() + (folder / "key.pem").read_text()
    (folder / "both.pem").write_text(both)
    return folder


def test_a_client_that_trusts_the_certificate_is_served(serve: Serve, folder: Path) -> None:
    live = serve(tls_cert=folder / "cert.pem", tls_key=folder / "key.pem", token=TOKEN)
    trusting = ssl.create_default_context(cafile=folder / "cert.pem")
    with httpx.Client(base_url=live.url, verify=trusting) as client:
        exchanged = client.get(f"/webgpu-test?token={TOKEN}")
        assert exchanged.status_code == 303
        cookie = exchanged.headers["set-cookie"]
        assert "Secure" in cookie
        assert "HttpOnly" in cookie
        assert "Strict-Transport-Security" not in exchanged.headers
        page = client.get("/webgpu-test", headers={"Cookie": cookie.partition(";")[0]})
        assert "webgpu-fa2" in page.text
        same_origin = {"Origin": live.url, "Cookie": cookie.partition(";")[0]}
        body = {"case": CASE, "page": "nobody"}
        assert client.post("/api/runs", json=body, headers=same_origin).status_code == 201
    doubting = httpx.Client(base_url=live.url, verify=ssl.create_default_context())
    with doubting, pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        doubting.get("/webgpu-test")


def test_a_key_may_stand_in_the_certificate_s_file(serve: Serve, folder: Path) -> None:
    live = serve(tls_cert=folder / "both.pem")
    assert live.url.startswith("https://")
    assert live.client.get("/api/pages").json() == []


def test_fa2_run_reaches_a_page_over_https_and_checks_the_certificate(
    serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = serve(tls_cert=folder / "cert.pem", tls_key=folder / "key.pem")
    page = live.page(label="laptop")
    introduce(page)
    refused = problem(fa2(live, "--page", "laptop", CASE))
    assert "SSL_CERT_FILE=FILE names the certificate" in refused.message
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "cert.pem"))
    working = Working(page, type(page).work)
    assert fa2(live, "--page", "laptop", CASE).exit_code == 0
    working.end()


def test_the_printed_url_says_https_and_the_name_of_the_machine(folder: Path) -> None:
    settings = Settings(
        host="0.0.0.0", port=8000, allow_remote=True, token=SecretStr(TOKEN),
        allowed_hosts=("laptop.local",), tls_cert=folder / "both.pem",
    )  # fmt: skip
    assert page_url(settings) == f"https://laptop.local:8000/webgpu-test?token={TOKEN}"


@pytest.mark.parametrize(
    ("cert", "key", "says"),
    [
        ("none.pem", "key.pem", "--tls-cert {}/none.pem cannot be read: No such file"),
        ("cert.pem", "none.key", "--tls-key {}/none.key cannot be read: No such file"),
        ("cert.pem", "other.key", "--tls-key {0}/other.key is not the key of the certificate"),
        ("cert.pem", "locked.key", "--tls-key {}/locked.key has a passphrase"),
        ("cert.pem", None, "--tls-cert {}/cert.pem holds no certificate with its key"),
        ("key.pem", "key.pem", "--tls-cert {0}/key.pem and --tls-key {0}/key.pem are no"),
        (None, "key.pem", "--tls-key {}/key.pem needs its certificate"),
        ("", "key.pem", "--tls-cert {}/text.txt is no PEM file"),
    ],
)
def test_files_that_do_not_make_https_are_named(
    folder: Path, cert: str | None, key: str | None, says: str
) -> None:
    (folder / "text.txt").write_text("hello\n")
    given = {"tls_cert": cert and folder / cert, "tls_key": key and folder / key}
    if cert == "":
        given["tls_cert"] = folder / "text.txt"
    with pytest.raises(ValueError, match="tls") as refused:
        Settings(**given)
    assert says.format(folder) in str(refused.value)


def test_fa2_serve_refuses_a_wrong_file_as_usage(folder: Path) -> None:
    from typer.testing import CliRunner

    from server.cli import app

    result = CliRunner().invoke(app, ["serve", "--tls-cert", str(folder / "none.pem")])
    error = problem(result)
    assert isinstance(error, CaseError)
    assert error.message.startswith(f"--tls-cert {folder}/none.pem cannot be read")
