"""Parts of a model, parts of a file, chat templates, long texts, samplings."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tiny_models as tiny
from conftest import bytes_of, capture_words, captured, config_of, run, words_of_letters
from gguf_writing import token_ids
from numpy_llama import queries_and_keys

# Texts must be longer than a bucket.
EVERY_ROW = ("--sampling", "all", "--bucket_size", 4)


def rows(columns):
    return [columns[name].tolist() for name in ("example_id", "position", "bucket")]


def same_rows(one, other):
    return rows(one) == rows(other) and np.array_equal(one["vector"], other["vector"])


def queries_of(text, bos=True):
    """The first layer's queries of the tiny Llama, [heads, tokens, components]."""
    return queries_and_keys(tiny.tensors_of(tiny.MEASURED["llama"]), token_ids(text, bos))[0][0]


def expect_queries(columns, expected):
    assert np.abs(columns["vector"] - expected).max() < 2e-5 * np.abs(expected).max()


def test_the_same_command_writes_the_same_bytes(llama, texts, tmp_path):
    captured(llama, texts, tmp_path / "one")
    captured(llama, texts, tmp_path / "two")
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")


def test_a_model_in_several_parts_is_the_same_model(llama, texts, tmp_path):
    first = tiny.write_model(tmp_path / "model.gguf", "llama", tensors_per_file=10)
    assert len(list(tmp_path.glob("model-*.gguf"))) == 4
    whole, parts = captured(llama, texts, tmp_path / "whole"), captured(first, texts, tmp_path / "parts")
    assert whole.keys() == parts.keys()
    assert all(same_rows(whole[name], parts[name]) for name in whole)


def test_layers_and_heads_are_those_of_the_whole_capture(llama, texts, tmp_path):
    whole = captured(llama, texts, tmp_path / "whole")
    some = captured(llama, texts, tmp_path / "some", "--layers", "0,2", "--heads", "1,3")
    assert set(some) == {(layer, head, side) for layer in (0, 2) for head, side in ((1, "q"), (3, "q"), (0, "k"), (1, "k"))}
    assert all(same_rows(whole[name], some[name]) for name in some)


def test_documents_read_together_are_those_read_alone(llama, texts, tmp_path):
    alone = captured(llama, texts, tmp_path / "alone", "--exact")
    together = captured(llama, texts, tmp_path / "together", "--exact", "--batch_size", 3)
    assert alone.keys() == together.keys()
    for name, columns in alone.items():
        assert rows(columns) == rows(together[name])
        difference = np.abs(columns["vector"] - together[name]["vector"]).max()
        assert difference < 1e-5 * np.abs(columns["vector"]).max(), name


def test_documents_read_together_are_rotated_as_those_read_alone(texts, tmp_path):
    """libllama takes the long factors of LongRoPE for a context beyond the length that the rotation was made for."""
    model = tiny.write_model(tmp_path / "model.gguf", "phi3 longrope")
    alone = captured(model, texts, tmp_path / "alone", "--exact")
    together = captured(model, texts, tmp_path / "together", "--exact", "--batch_size", 5)
    assert bytes_of(tmp_path / "alone")["config.json"] == bytes_of(tmp_path / "together")["config.json"]
    for name, columns in alone.items():
        difference = np.abs(columns["vector"] - together[name]["vector"]).max()
        assert difference < 1e-5 * np.abs(columns["vector"]).max(), name
    (tmp_path / "long.txt").write_text(words_of_letters(tiny.UNSTRETCHED + 1, 7))
    captured(model, tmp_path / "long.txt", tmp_path / "long")
    slowest = [config_of(tmp_path / name)["rope_rotations"][0]["inv_freq"][-1] for name in ("alone", "long")]
    assert slowest[0] == pytest.approx(8 * slowest[1])


def test_a_long_window_is_measured_where_documents_are_longer(tmp_path):
    window = 9000
    values = {"attention.sliding_window": window, "context_length": 2 * window}
    model = tiny.write_model(tmp_path / "model.gguf", "gemma3", values=values)
    for length, expected in ((window - 1, None), (window + 1, window)):
        (tmp_path / "a.txt").write_text(words_of_letters(length - 1, 3))
        flags = ("--max_length", 2 * window, "--layers", 0)
        columns = captured(model, tmp_path / "a.txt", tmp_path / f"{length}", *flags)[0, 0, "q"]
        layers = config_of(tmp_path / f"{length}")["attention_layers"]
        assert [layer["window"] for layer in layers] == [expected, None, expected, None]
        assert columns["sliding_window"][0] == expected or expected is None


@pytest.mark.parametrize("bos", [True, False])
def test_a_token_before_the_text_as_the_model_says(bos, tmp_path):
    model = tiny.write_model(tmp_path / "model.gguf", "llama", bos=bos)
    (tmp_path / "a.txt").write_text("some words")
    dump = captured(model, tmp_path / "a.txt", tmp_path / "dump", "--exact", *EVERY_ROW)
    for head, expected in enumerate(queries_of("some words", bos)):
        expect_queries(dump[0, head, "q"], expected)


def test_a_chat_template_is_used_when_asked_for(tmp_path):
    template = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    model = tiny.write_model(tmp_path / "model.gguf", "llama", general={"tokenizer.chat_template": template})
    (tmp_path / "a.txt").write_text("hello")
    flags = ("--exact", *EVERY_ROW)
    plain = captured(model, tmp_path / "a.txt", tmp_path / "plain", *flags)
    chat = captured(model, tmp_path / "a.txt", tmp_path / "chat", "--chat_template", *flags)
    expect_queries(plain[0, 0, "q"], queries_of("hello")[0])
    expect_queries(chat[0, 0, "q"], queries_of("<|im_start|>user\nhello<|im_end|>\n")[0])


def test_long_texts_are_cut_or_taken_apart(llama, tmp_path):
    text = words_of_letters(250, 3)
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": part}) for part in (text, "short")))

    def lengths(name, *flags):
        columns = captured(llama, tmp_path / "a.jsonl", tmp_path / name, *EVERY_ROW, "--max_length", 100, *flags)
        return np.bincount(columns[0, 0, "q"]["example_id"].astype(int)).tolist()

    assert lengths("cut") == [100, 6]
    assert lengths("chunk", "--long_texts", "chunk") == [100, 100, 51, 6]
    assert lengths("two", "--long_texts", "chunk", "--max_documents", 2) == [100, 100]


def test_chunks_are_documents_that_stand_alone(llama, tmp_path):
    text = words_of_letters(150, 3)
    (tmp_path / "a.txt").write_text(text)
    flags = (*EVERY_ROW, "--max_length", 100, "--long_texts", "chunk", "--exact")
    columns = captured(llama, tmp_path / "a.txt", tmp_path / "dump", *flags)[0, 0, "q"]
    second = columns["example_id"] == 1
    assert columns["position"][second].tolist() == list(range(51))
    expect_queries({"vector": columns["vector"][second]}, queries_of(text[99:], bos=False)[0])


def test_samplings_take_the_rows_that_they_say(llama, texts, tmp_path):
    every = captured(llama, texts, tmp_path / "all", "--sampling", "all")
    for sampling in ("uniform", "log_uniform"):
        some = captured(llama, texts, tmp_path / sampling, "--sampling", sampling, "--bucket_size", 32)
        for name, columns in some.items():
            whole = {place: i for i, place in enumerate(zip(*rows(every[name])[:2]))}
            picked = [whole[place] for place in zip(*rows(columns)[:2])]
            assert 0 < len(picked) < len(whole)
            assert np.array_equal(columns["vector"], every[name]["vector"][picked])
        buckets = np.unique(some[0, 0, "q"]["bucket"])
        assert len(buckets) == (10 if sampling == "uniform" else 4)


def test_the_sample_comes_with_the_program(llama, tmp_path):
    columns = captured(llama, "sample", tmp_path / "dump", "--max_documents", 3, "--layers", 0)
    assert set(columns[0, 0, "q"]["example_id"]) == {0, 1, 2}


def test_labels_are_written_when_asked_for(llama, texts, tmp_path):
    done = run(*capture_words(llama, texts, tmp_path / "dump", "--labels"))
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "dump" / "head_labels.csv").read_text().splitlines()
    assert len(table) == 1 + tiny.LAYERS * tiny.HEADS
    assert table[0].startswith("layer,q_head,")
