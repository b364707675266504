"""A capture that is killed at any moment leaves a whole dump or none, and the next one goes on to the same bytes."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from conftest import PROGRAM, bytes_of, capture_words, captured

# Several layers and rows, so that reading the texts and writing the dump take about as long.
FLAGS = ("--sampling", "all", "--exact")


@pytest.fixture(scope="module")
def whole(llama, texts, tmp_path_factory):
    """The bytes of a dump that was not disturbed, and the seconds that it took."""
    folder = tmp_path_factory.mktemp("whole") / "dump"
    start = time.monotonic()
    captured(llama, texts, folder, *FLAGS)
    return bytes_of(folder), time.monotonic() - start


def assert_whole_or_none(dump, whole):
    """No head can be seen before all of them can; every Parquet file that stands is whole."""
    heads = list(dump.glob("l*h*[qk]"))
    if heads:
        assert bytes_of(dump) == whole
    for file in dump.rglob("*.parquet"):
        pq.read_table(file)


def killed_after(words, seconds):
    """True if it was killed before it ended."""
    process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    code = process.wait()
    assert code in (0, -signal.SIGKILL), process.stderr.read() if process.stderr else ""
    return code != 0


@pytest.mark.parametrize("seed", range(8))
def test_killed_at_random_moments(llama, texts, tmp_path, whole, seed):
    expected, seconds = whole
    moments = random.Random(seed)
    words = capture_words(llama, texts, tmp_path / "dump", *FLAGS)
    killed = 0
    while killed < 4 and killed_after(words, moments.uniform(0, seconds)):
        assert_whole_or_none(tmp_path / "dump", expected)
        killed += 1
    captured(llama, texts, tmp_path / "dump", *FLAGS)
    assert bytes_of(tmp_path / "dump") == expected


def started(words):
    """A process that has begun to handle signals; before, they end it as they end any other."""
    process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    pattern = re.compile(r"^SigBlk:\s*(\w+)$", re.MULTILINE)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        found = pattern.search(Path(f"/proc/{process.pid}/status").read_text())
        mask = int(found[1], 16) if found else 0
        blocked = [bool(mask & (1 << (number - 1))) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)]
        if blocked == [True, True, False]:  # for moments, a process that is started has all of them blocked
            break
        time.sleep(0.001)
    return process


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("share", [0, 0.2, 0.5, 0.8])
def test_a_signal_stops_it_and_the_next_one_goes_on(llama, texts, tmp_path, whole, sent, share):
    expected, seconds = whole
    process = started(capture_words(llama, texts, tmp_path / "dump", *FLAGS))
    time.sleep(share * seconds)
    process.send_signal(sent)
    _, told = process.communicate(timeout=60)
    if process.returncode in (0, -sent):  # it had written its dump, and had ended or was about to
        assert bytes_of(tmp_path / "dump") == expected
    else:
        assert process.returncode == 128 + sent, told
        assert told.startswith("attention-plasticity: interrupted")
    assert_whole_or_none(tmp_path / "dump", expected)
    captured(llama, texts, tmp_path / "dump", *FLAGS)
    assert bytes_of(tmp_path / "dump") == expected


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", [("capture",), ("study",), ("study", "--no-dump")])
def test_a_signal_before_the_texts_are_read_leaves_nothing(llama, tmp_path, sent, command):
    """Millions of tokens, which take the tokenizer seconds."""
    (tmp_path / "texts.txt").write_text("abcdefgh" * 500_000)
    words = [*command, "--model", str(llama), "--texts", str(tmp_path / "texts.txt"), "--output", str(tmp_path / "out")]
    process = started(words)
    process.send_signal(sent)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + sent
    assert told == "attention-plasticity: interrupted before anything was written\n"
    assert not (tmp_path / "out").exists()
