"""Text of strangers, for terminals and notebooks: as the program shows it."""

from __future__ import annotations

from . import _core


def _bytes(text: str) -> bytes:
    # Names of files that are not UTF-8 have surrogates for their bytes; a surrogate alone is spelled out.
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def printable_text(text: str) -> str:
    """The text on one line. Control characters, marks of direction and bytes that are not UTF-8 are spelled out."""
    return _core.printable_text(_bytes(text))


def printable_lines(text: str) -> str:
    """The same for several lines: line breaks and tabs are kept."""
    return _core.printable_lines(_bytes(text))
