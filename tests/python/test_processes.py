"""Threads, forks, signals and memory."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

import attention_plasticity as ap
from attention_plasticity import _core, _progress, _runs

from conftest import dump, not_sanitized

ROOT = dump("minidoc-qwen3")


def test_two_threads_analyse_at_once(results):
    both = threading.Barrier(2, timeout=60)

    class Waiting(_progress.Progress):
        """Holds each run at its first head until the other one is there too."""

        met = False

        def __call__(self, kind, *what):
            if kind == "head" and not self.met:
                self.met = True
                both.wait()

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as threads:
        patch.setattr("attention_plasticity._analyze.Progress", Waiting)
        runs = list(threads.map(lambda _: ap.analyze(ROOT), range(2)))
    assert runs[0] == runs[1] == results["minidoc-qwen3"]


def test_other_threads_run_while_the_library_works():
    rng = np.random.default_rng(0)
    columns = {"position": np.arange(20_000) % 1000, "bucket": np.arange(20_000) % 1000 // 100,
               "example_id": np.arange(20_000) // 1000}
    rows = ap.Rows(rng.standard_normal((20_000, 128), np.float32), **columns)
    turns = []
    done = threading.Event()

    def count():
        while not done.wait(0.001):
            turns.append(None)

    other = threading.Thread(target=count)
    other.start()
    ap.analyze_head(rows, rows, rope="none")
    seen = len(turns)
    done.set()
    other.join()
    assert seen > 5


def fraction_of_heads(layer: int) -> float:
    return float(ap.analyze(ROOT, layers=layer).heads["ap_exact"].sum())


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_analyse(method, results):
    expected = results["minidoc-qwen3"].heads["ap_exact"].groupby("layer").sum()
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(fraction_of_heads, [0, 1]) == [expected[0], expected[1]]


def test_control_c_keeps_what_is_finished(monkeypatch, results, tmp_path):
    class Interrupting(_progress.Progress):
        def __call__(self, kind, *what):
            if kind == "head" and what[2] == 3:
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("attention_plasticity._analyze.Progress", Interrupting)
    whole = results["smollm2-135m"]
    # A shell starts what runs in the background with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(ap.Interrupted) as caught:
            ap.analyze(dump("smollm2-135m"), max_workers=1)
    finally:
        signal.signal(signal.SIGINT, before)
    partial = caught.value.result
    assert partial is not None and partial.interrupted
    assert 3 <= len(partial) < len(whole)
    for head in partial:
        assert partial[head]["ap_exact"] == whole[head]["ap_exact"]
    assert "interrupted" in repr(partial)
    assert partial.save(tmp_path)[0].name == "head_metrics.partial.csv"
    assert isinstance(caught.value, KeyboardInterrupt)


@contextmanager
def control_c_inside(module, name):
    """Presses Ctrl-C half a second after a function of the library was entered."""
    called = getattr(module, name)
    ended = threading.Event()

    def press():
        if not ended.wait(0.5):
            os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)

    def entered(*given):
        pressing.start()
        return called(*given)

    # A shell starts what runs in the background with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, entered)
            yield
    finally:
        ended.set()
        pressing.join()
        signal.signal(signal.SIGINT, before)


def slow_head() -> ap.Rows:
    """Some 100,000 cells, which would take a minute."""
    rng = np.random.default_rng(0)
    position = np.arange(20_000) % 2000
    return ap.Rows(rng.standard_normal((20_000, 64), np.float32), position=position, bucket=position // 4,
                   example_id=np.arange(20_000) // 2000)


def test_control_c_does_not_wait_for_a_head():
    rows = slow_head()
    with pytest.raises(ap.Interrupted) as caught, control_c_inside(_runs, "run_arrays"):
        ap.analyze({(0, 0): (rows, rows)}, rope="none")
    assert caught.value.result is None


def test_control_c_ends_the_analysis_of_one_head():
    rows = slow_head()
    with pytest.raises(KeyboardInterrupt), control_c_inside(_core, "analyze_head"):
        ap.analyze_head(rows, rows, rope="none")


def test_what_progress_raises_reaches_the_caller(monkeypatch):
    class Failing(_progress.Progress):
        def __call__(self, kind, *what):
            if kind == "head":
                raise RuntimeError("no more")

    monkeypatch.setattr("attention_plasticity._analyze.Progress", Failing)
    with pytest.raises(RuntimeError, match="no more"):
        ap.analyze(ROOT)


def test_a_bar_counts_heads(capsys):
    ap.analyze(ROOT, layers=0, progress=True)
    assert "6/6" in capsys.readouterr().err
    ap.analyze(ROOT, layers=0)
    assert capsys.readouterr().err == ""


def run_alone(code: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


@not_sanitized
def test_float32_vectors_are_not_copied():
    array_mb, grown_mb = run_alone("""
import resource, numpy as np, attention_plasticity as ap
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
rng = np.random.default_rng(0)
rows = 200_000
def side():
    return ap.Rows(rng.standard_normal((rows, 128), np.float32), position=np.arange(rows) % 1000.0,
                   bucket=np.arange(rows) % 1000 // 100, example_id=np.arange(rows) // 1000)
def small(rows):
    return ap.Rows(rows.vectors[:2000], position=rows.position[:2000], bucket=rows.bucket[:2000],
                   example_id=rows.example_id[:2000])
queries, keys = side(), side()
options = dict(rope='none', max_tokens_per_head=None, max_workers=1)
ap.analyze({(0, 0): (small(queries), small(keys))}, **options)
before = peak()
ap.analyze({(0, 0): (queries, keys)}, **options)
print(queries.vectors.nbytes / 2**20, peak() - before)
""")
    assert grown_mb < array_mb / 2, (array_mb, grown_mb)


@not_sanitized
def test_100000_calls_leak_nothing():
    first, last = run_alone("""
import os, numpy as np, attention_plasticity as ap
def rss(): return int(open('/proc/self/statm').read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 2**20
rng = np.random.default_rng(0)
columns = dict(position=np.arange(8.0), bucket=np.arange(8) // 4, example_id=np.zeros(8, np.int64))
queries = ap.Rows(rng.standard_normal((8, 4), np.float32), **columns)
keys = ap.Rows(rng.standard_normal((8, 4), np.float32), **columns)
bad = ap.Rows(np.full((8, 4), np.nan, np.float32), **columns)
def calls(count):
    for i in range(count):
        ap.analyze_head(queries, keys, num_triples=4, rope='none').metrics()
        if i % 10 == 0:
            try: ap.analyze_head(bad, keys)
            except ap.InputError: pass
calls(20_000)
first = rss()
calls(80_000)
print(first, rss())
""")
    assert last - first < 1, (first, last)


@pytest.mark.parametrize("given", ["address", "configuration"])
def test_a_process_that_used_an_object_store_ends_as_it_should(tmp_path, given):
    """The client of S3 must be ended before the process is, whoever named the store."""
    address = "s3://KEY:SECRET@bucket/dump?endpoint_override=127.0.0.1:9&scheme=http&region=us-east-1"
    source = address
    if given == "configuration":
        source = str(tmp_path / "run.yaml")
        (tmp_path / "run.yaml").write_text(f"dataset_local_root: {address}\n")
    program = (
        "import sys, attention_plasticity as ap\n"
        "try:\n    ap.analyze(sys.argv[1])\n"
        "except ap.NetworkError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, source], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("s3://bucket/dump: ") and not done.stderr


def test_a_forked_process_leaves_the_files_of_its_parent(results):
    result = results["minidoc-qwen3"]
    folder = result._path()
    child = os.fork()
    if child == 0:
        del result
        results.clear()
        gc.collect()
        sys.stdout.flush()
        os._exit(0 if folder.exists() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert folder.exists()
    code = """
import os, sys, attention_plasticity as ap
result = ap.load(sys.argv[1])
copy = __import__("pickle").loads(__import__("pickle").dumps(result))
if os.fork() == 0:
    sys.exit()  # with all that Python does at its end
os.wait()
assert copy == result and copy._path().exists()
"""
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)


def test_a_process_without_standard_error_analyses():
    code = f"import attention_plasticity as ap; ap.analyze({str(ROOT)!r}, layers=0); ap.analyze({str(ROOT)!r}, layers=0, progress=True)"
    done = subprocess.run(["sh", "-c", 'exec "$0" -c "$1" 2>&-', sys.executable, code], check=False)
    assert done.returncode == 0
