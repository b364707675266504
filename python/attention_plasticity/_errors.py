"""Failures. Each kind has the exit code of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._printable import printable_text
from ._temporary import without_own_folders

if TYPE_CHECKING:
    from ._result import Result


class Error(Exception):
    """A failure that ends a call.

    `message` says what happened and what to do, on one printable line; it names options between backticks. `file` is the
    file that it is about, empty if there is none. `exit_code` is that of the program.
    """

    exit_code: int = 1

    def __init__(self, message: str, file: str = "") -> None:
        super().__init__(message, file)
        self.message: str = printable_text(message)
        self.file: str = file

    def __str__(self) -> str:
        return f"{printable_text(self.file)}: {self.message}" if self.file else self.message


class ConfigError(Error, ValueError):
    """Wrong use: an option that is unknown or out of range, or options that contradict each other or the input."""

    exit_code = 2


class InputError(Error):
    """The input is missing or unusable."""

    exit_code = 3


class AccessError(Error):
    """The repository does not exist, or there is no access to it."""

    exit_code = 4


class NetworkError(Error):
    """The network failed, a rate limit was met, or a checksum stays wrong."""

    exit_code = 5


class OutputError(Error):
    """The output could not be written."""

    exit_code = 6


UsageError = ConfigError


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended an analysis. `result` holds the heads that were finished; None when there are none."""

    def __init__(self, result: Result | None) -> None:
        heads = 0 if result is None else len(result)
        super().__init__(f"interrupted; {heads} heads are in the result of this exception")
        self.result = result

    def __reduce__(self) -> tuple[type[Interrupted], tuple[Result | None]]:
        return type(self), (self.result,)


class PlasticityWarning(UserWarning):
    """What may make results wrong."""


_KINDS: dict[int, type[Error]] = {
    kind.exit_code: kind for kind in (ConfigError, InputError, AccessError, NetworkError, OutputError)
}


def make_error(exit_code: int, message: str, file: str) -> Error:
    """The exception of a failure in the library."""
    return _KINDS[exit_code](without_own_folders(message), without_own_folders(file))
