"""Whom to trust on the network."""

from __future__ import annotations

import os

# Where libcurl looks by itself.
KNOWN_PLACE = "/etc/ssl/certs/ca-certificates.crt"
# What users may have set, in the order of the library.
VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


def ca_file() -> str | None:
    """Trusted certificates where the system has none at the place that libcurl knows: Python's, else certifi's."""
    if os.path.exists(KNOWN_PLACE):
        return None
    import ssl

    found = ssl.get_default_verify_paths().cafile
    if found:
        return found
    try:
        import certifi
    except ImportError:
        return None
    return str(certifi.where())


def add_ca_file(environment: dict[str, str]) -> None:
    """Names such certificates to the program, unless the user does."""
    if any(environment.get(name) for name in VARIABLES):
        return
    file = ca_file()
    if file is not None:
        environment["SSL_CERT_FILE"] = file
