"""A capture that is killed at any moment leaves a whole dump or none, and the next one goes on to the same bytes."""

from __future__ import annotations

import random
import signal
import subprocess
import time

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


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_and_the_next_one_goes_on(llama, texts, tmp_path, whole, sent):
    expected, seconds = whole
    words = capture_words(llama, texts, tmp_path / "dump", *FLAGS)
    process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds / 3)
    process.send_signal(sent)
    code = process.wait(60)
    assert code in (0, 128 + sent)
    assert_whole_or_none(tmp_path / "dump", expected)
    captured(llama, texts, tmp_path / "dump", *FLAGS)
    assert bytes_of(tmp_path / "dump") == expected
