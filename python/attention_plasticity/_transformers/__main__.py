"""capture, study and evaluate for the program, which has read their flags and hands the values over.

A word name=TEXT is text, name:=JSON any other value. Flags, their ranges and their help are those of the program.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import warnings
from typing import Any

from .._errors import Error, PlasticityWarning
from .._printable import printable_lines, printable_text


def _options(words: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for word in words:
        name, value = word.split("=", 1)
        if name.endswith(":"):
            options[name[:-1]] = json.loads(value)
        else:
            options[name] = value
    return options


def _with_flags(message: str) -> str:
    """`field` and `field: value` as flags, as the program does it."""
    return re.sub(r"`(\w+)(?:: ([^`]*))?`", lambda found: " ".join(filter(None, (f"--{found[1]}", found[2]))), message)


def _tell(line: str) -> None:
    print(printable_text(line), file=sys.stderr, flush=True)


def _print(text: object) -> None:
    print(printable_lines(str(text)))


def _show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, PlasticityWarning):
        _tell(f"warning: {_with_flags(str(message))}")


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _tell(_with_flags(record.getMessage()))


def _quieten_libraries() -> None:
    """Bars and advice of transformers would stand between our lines."""
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def _capture(options: dict[str, Any], quiet: bool) -> None:
    from .capturing import capture

    dump = capture(options.pop("model"), None, options.pop("texts"), **options)
    if not quiet:
        _print(f"{dump.path}: {dump.documents} documents of {dump.model_name}")
        _print(f"next: attention-plasticity analyze --dataset_local_root {dump.path} -o OUT")


def _study(options: dict[str, Any], quiet: bool) -> None:
    from .studying import LABELS_FILE, REPORT_FILE, study

    result = study(options.pop("model"), None, options.pop("texts"), **options)
    if not quiet:
        _print(result)
        folder = options["output"]
        _print(f"report: {os.path.join(folder, REPORT_FILE)}; labels: {os.path.join(folder, LABELS_FILE)}")


def _evaluate(options: dict[str, Any], quiet: bool) -> None:
    from .evaluating import evaluate_plan

    output = options.pop("output", None)
    if "rankings" in options:
        options["rankings"] = options["rankings"].split(",")
    if "shares" in options:
        try:
            options["shares"] = [float(share) for share in options["shares"].split(",")]
        except ValueError:
            from .._errors import ConfigError

            raise ConfigError(f"`shares: {options['shares']}` should list numbers, such as 0.25,0.5") from None
    found = evaluate_plan(options.pop("model"), options.pop("plan", None), options.pop("texts"), **options)
    if output is not None:
        found.to_file(output)
    _print(found)


def main(words: list[str]) -> int:
    """Runs a command; returns the exit code of the program."""
    command, options = words[0], _options(words[1:])
    quiet = bool(options.pop("quiet", False))
    warnings.showwarning = _show_warning
    log = logging.getLogger("attention_plasticity")
    if not quiet:
        log.setLevel(logging.INFO)
        log.addHandler(_Notes())
    options["progress"] = False if quiet else None
    # For bars that transformers' own switch does not reach; tqdm reads it when it is imported. Ours say that they are wanted.
    os.environ["TQDM_DISABLE"] = "1"
    try:
        from .needed import check_installed

        check_installed()
        _quieten_libraries()
        {"capture": _capture, "study": _study, "evaluate": _evaluate}[command](options, quiet)
    except Error as error:
        place = f"{error.file}: " if error.file else ""
        _tell(f"attention-plasticity: {place}{_with_flags(error.message)}")
        return error.exit_code
    except KeyboardInterrupt:
        goes_on = "" if command == "evaluate" else "; the same command goes on where it stopped"
        _tell(f"attention-plasticity: interrupted{goes_on}")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
