"""The libraries behind the package get along with others in the process."""

from __future__ import annotations

import http.server
import os
import shutil
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import attention_plasticity as ap
from attention_plasticity import _certificates
from attention_plasticity._program import program

from conftest import dump


def run_alone(code: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_digests_of_python_work_after_the_package_is_loaded():
    # libparquet exports an OpenSSL of its own, which must not stand in for that of Python.
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n"
    code = "import attention_plasticity._runs, hashlib, ssl; ssl.create_default_context(); print(hashlib.sha256(b'abc').hexdigest())"
    assert run_alone(code) == expected


@pytest.mark.parametrize("order", ["attention_plasticity._runs, pyarrow.parquet.encryption", "pyarrow.parquet.encryption, attention_plasticity._runs"])
def test_encrypted_parquet_files_can_be_read_beside_the_package(order, tmp_path):
    run_alone(f"""
import base64, {order}
import pyarrow as pa, pyarrow.parquet as pq, pyarrow.parquet.encryption as pe
class Kms(pe.KmsClient):
    def __init__(self, _): super().__init__()
    def wrap_key(self, key, _): return base64.b64encode(key)
    def unwrap_key(self, key, _): return base64.b64decode(key)
factory = pe.CryptoFactory(lambda config: Kms(config))
connection = pe.KmsConnectionConfig()
table = pa.table({{"a": [1.0, 2.0, 3.0]}})
writing = factory.file_encryption_properties(connection, pe.EncryptionConfiguration("footer", column_keys={{"column": ["a"]}}))
with pq.ParquetWriter(r"{tmp_path}/x.parquet", table.schema, encryption_properties=writing) as writer:
    writer.write_table(table)
reading = factory.file_decryption_properties(connection, pe.DecryptionConfiguration())
assert pq.ParquetFile(r"{tmp_path}/x.parquet", decryption_properties=reading).read() == table
""")


@pytest.fixture
def https(tmp_path):
    """A server of HTTPS that has nothing, its address, and the certificate that vouches for it."""

    class Nothing(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2 -subj /CN=localhost"
    files = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*words.split(), *files], capture_output=True, check=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Nothing)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://localhost:{server.server_port}", str(certificate)
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_certificate_decides_whom_to_trust(https, tmp_path, monkeypatch):
    address, certificate = https
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "localhost")
    for name in _certificates.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ap.NetworkError, match="(?i)certificate"):
        ap.analyze("org/name")
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    with pytest.raises(ap.AccessError) as caught:
        ap.analyze("org/name")
    assert "(nor is there a folder of that name)" in str(caught.value)
    done = subprocess.run([program(), "download", "org/name"], capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr


def test_certificates_are_found_where_the_system_has_none(https, tmp_path, monkeypatch):
    address, certificate = https
    monkeypatch.setattr(_certificates, "KNOWN_PLACE", str(tmp_path / "none.crt"))
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: ssl.DefaultVerifyPaths(certificate, *[None] * 5))
    assert _certificates.ca_file() == certificate
    environment: dict[str, str] = {}
    _certificates.add_ca_file(environment)
    assert environment == {"SSL_CERT_FILE": certificate}
    for name in _certificates.VARIABLES:
        environment = {name: "mine"}
        _certificates.add_ca_file(environment)
        assert environment == {name: "mine"}
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "localhost")
    with pytest.raises(ap.AccessError):
        ap.analyze("org/name")
    monkeypatch.setattr(_certificates, "KNOWN_PLACE", str(dump("minidoc-qwen3")))
    assert _certificates.ca_file() is None


def test_pyarrow_may_be_installed_elsewhere(tmp_path):
    package = Path(ap.__file__).parent
    others = tmp_path / "packages"
    others.mkdir()
    shutil.copytree(package, others / package.name)
    first = {"PYTHONPATH": str(others)}
    code = f"""
import attention_plasticity as ap
assert ap.__file__.startswith({str(others)!r})
print(len(ap.analyze({str(dump("minidoc-qwen3"))!r}, layers=0)))
"""
    assert run_alone(code, **first) == "6\n"
    words = [sys.executable, "-m", "attention_plasticity", "inspect", str(dump("minidoc-qwen3"))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **first})
    assert done.returncode == 0, done.stderr
