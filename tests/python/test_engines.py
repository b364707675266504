"""Heads can be measured by another process: what an engine is given and hands back."""

from __future__ import annotations

import multiprocessing

import pytest

import attention_plasticity as ap
from attention_plasticity import _runs

from conftest import dump

NAME = "minidoc-qwen3"


def measured(job):
    manifest, heads = job
    return _runs.HeadWorker(manifest).measure(heads)


def analyze(engine, tell=lambda *_: None, saved_heads=None):
    options = [("dataset_local_root", str(dump(NAME)))]
    run, raised = _runs.run_dump(None, options, None, saved_heads, engine, tell)
    assert raised is None
    return run


def by_processes(work, receiver):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        jobs = [(work.manifest, heads) for heads, _ in work.groups]
        for group, found in enumerate(pool.imap(measured, jobs)):
            receiver.measured(group, found)


def test_heads_of_other_processes_are_those_of_one(results):
    seen = []
    run = analyze(by_processes, lambda kind, *what: seen.append((kind, *what)))
    assert ap.Result._of_run(run) == results[NAME]
    heads = [event for event in seen if event[0] == "head"]
    assert [event[3] for event in heads] == list(range(1, len(results[NAME]) + 1))


def test_groups_are_kv_groups_with_their_memory(results):
    groups = []

    def engine(work, receiver):
        groups.extend(work.groups)
        by_processes(work, receiver)

    analyze(engine)
    assert sum(len(heads) for heads, _ in groups) == len(results[NAME])
    for heads, size in groups:
        assert len({(layer, k_head) for layer, _, k_head in heads}) == 1
        assert len(heads) == 3
        assert 10_000 < size < 1 << 30


def test_saved_heads_are_not_asked_for_again(results, tmp_path):
    class Enough(Exception):
        pass

    def dying(work, receiver):
        receiver.measured(0, measured((work.manifest, work.groups[0][0])))
        raise Enough

    saved = tmp_path / "saved"
    with pytest.raises(Enough):
        analyze(dying, saved_heads=saved)
    first = sorted(path.name for path in saved.glob("*.head"))
    assert len(first) == 3
    asked = []

    def engine(work, receiver):
        asked.extend(head for heads, _ in work.groups for head in heads)
        by_processes(work, receiver)

    assert ap.Result._of_run(analyze(engine, saved_heads=saved)) == results[NAME]
    assert len(asked) == len(results[NAME]) - 3
    assert {f"l{layer:02}h{head:02}.head" for layer, head, _ in asked}.isdisjoint(first)
    # The same folder serves a run without an engine.
    assert ap.analyze(dump(NAME), saved_heads=saved) == results[NAME]


def test_a_group_that_is_given_up_fails_its_heads():
    def engine(work, receiver):
        receiver.failed(0, "its node died")
        for group, (heads, _) in enumerate(work.groups[1:], 1):
            receiver.measured(group, measured((work.manifest, heads)))

    run = analyze(engine)
    assert [failure[4] for failure in run.failures] == ["its node died"] * 3


def test_wrong_use():
    with pytest.raises(ap.ConfigError, match="`engine: spark` should be local or ray"):
        ap.analyze(dump(NAME), engine="spark")
    with pytest.raises(ap.ConfigError, match="`address`: only `engine: ray` has one"):
        ap.analyze(dump(NAME), address="host:1")
    with pytest.raises(ap.ConfigError, match="are for dumps"):
        ap.analyze({}, saved_heads="somewhere")
    with pytest.raises(ap.InputError, match="not the record of a run|is not"):
        _runs.HeadWorker("{}")


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ap.ConfigError, match=r"the engine ray needs Ray: pip install 'attention-plasticity\[ray\]'"):
        ap.analyze(dump(NAME), engine="ray")
