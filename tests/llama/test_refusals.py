"""What cannot be captured: each its own message, and exit code 3; wrong flags have 2."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import tiny_models as tiny
from conftest import capture_words, run
from gguf_writing import write_gguf

REFUSALS = {
    "mpt": "layer 0 adds a bias by distance to q·k (ALiBi), so that queries and keys do not hold the position; such a model "
    "cannot be measured",
    "bloom": "layer 0 adds a bias by distance to q·k (ALiBi), so that queries and keys do not hold the position; such a "
    "model cannot be measured",
    "hunyuan-dense": "weights act on the queries of layer 0 after their rotation, so that they cannot be rotated back; such "
    "a model cannot be measured",
    "mamba": "no layer of this model compares queries with keys; there is nothing to measure",
    "rwkv6": "no layer of this model compares queries with keys; there is nothing to measure",
    "bert": "the first token sees 64 keys in layer 0: the attention of this model is not causal, as in embedding models and "
    "encoders; only models that read a text from left to right can be captured",
    "t5": "this model has an encoder; only models that read a text from left to right can be captured",
}


def refusal(model, texts, tmp_path, *flags, code=3):
    """The message of a capture that fails and writes nothing."""
    done = run(*capture_words(model, texts, tmp_path / "dump", *flags))
    assert done.returncode == code, done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "dump").exists() or not list((tmp_path / "dump").glob("l*"))
    return done.stderr.removeprefix("attention-plasticity: ").removeprefix(f"{model}: ").rstrip("\n")


@pytest.mark.parametrize("name", tiny.REFUSED)
def test_architectures_that_cannot_be_measured_are_refused(name, texts, tmp_path):
    model = tiny.write_model(tmp_path / "model.gguf", name)
    assert refusal(model, texts, tmp_path) == REFUSALS[name]


def test_a_file_that_is_no_gguf(texts, tmp_path):
    model = tmp_path / "model.gguf"
    model.write_bytes(b"PK\x03\x04" + bytes(1000))
    assert refusal(model, texts, tmp_path) == "this is no GGUF file: it does not begin with the letters GGUF"
    model.write_bytes(b"")
    assert refusal(model, texts, tmp_path) == "this is no GGUF file: it does not begin with the letters GGUF"


def test_a_file_that_is_missing(texts, tmp_path):
    assert refusal(tmp_path / "none.gguf", texts, tmp_path) == "there is no such GGUF file"


@pytest.mark.parametrize("bytes_left", [4, 20, 100, 2000])
def test_a_file_that_ends_in_its_header(llama, texts, tmp_path, bytes_left):
    model = tmp_path / "model.gguf"
    model.write_bytes(llama.read_bytes()[:bytes_left])
    message = refusal(model, texts, tmp_path)
    assert message.startswith("the header of this GGUF file cannot be read; it may be truncated")


@pytest.mark.parametrize("share", [0.5, 0.999])
def test_a_file_that_ends_in_its_tensors(llama, texts, tmp_path, share):
    whole = llama.read_bytes()
    model = tmp_path / "model.gguf"
    model.write_bytes(whole[: int(len(whole) * share)])
    assert refusal(model, texts, tmp_path).startswith("this GGUF file is truncated: it has ")


def test_a_projector(texts, tmp_path):
    model = write_gguf(tmp_path / "mmproj.gguf", "clip", {}, {}, general={"general.type": "mmproj"}, vocabulary=False)
    assert refusal(model, texts, tmp_path) == (
        "this GGUF file is a projector for images or sound, and no language model; give the model that it belongs to"
    )


def test_an_adapter(texts, tmp_path):
    model = write_gguf(tmp_path / "lora.gguf", "llama", {}, {}, general={"general.type": "adapter"}, vocabulary=False)
    assert refusal(model, texts, tmp_path) == "this GGUF file is an adapter, and no model; merge it into its model first"


def test_an_embedding_model_of_a_decoder(texts, tmp_path):
    """Its pages say Qwen3, but it was trained to make one vector of a text. It still reads from left to right."""
    model = tiny.write_model(tmp_path / "model.gguf", "qwen3", values={"pooling_type": 3})
    assert run(*capture_words(model, texts, tmp_path / "dump")).returncode == 0


def test_a_model_without_a_tokenizer(texts, tmp_path):
    model = tiny.write_model(
        tmp_path / "model.gguf", "llama", vocabulary=False, general={"tokenizer.ggml.model": "no_vocab"}
    )
    assert refusal(model, texts, tmp_path) == "this GGUF file has no tokenizer"


def test_a_tensor_that_is_missing(texts, tmp_path):
    architecture = tiny.LLAMA._replace(top={})
    model = write_gguf(tmp_path / "model.gguf", "llama", tiny.values_of(architecture), tiny.tensors_of(architecture))
    message = refusal(model, texts, tmp_path)
    assert message.startswith("libllama cannot load it: ")
    assert message.endswith("tensor 'output_norm.weight' not found")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "the text is empty; leave it out"),
        ("a.txt", " \n", "the text is empty; leave it out"),
        ("a.jsonl", "", "there are no texts"),
        ("a.jsonl", '{"body": "x"}', "there is no field text, only body; pass --text_field"),
    ],
)
def test_texts_that_are_none(llama, tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    assert refusal(llama, tmp_path / name, tmp_path).endswith(f": {message}")


def free_memory():
    """Bytes, at least those that the program may take."""
    lines = (line.split() for line in open("/proc/meminfo", encoding="utf-8"))
    return next(int(words[1]) * 1024 for words in lines if words[0] == "MemAvailable:")


def model_of_wide_heads(path, heads, head):
    """A model with one key head, whose attention adds nothing."""
    rows = heads * head
    attention = {"attn_q.weight": (rows, tiny.WIDTH), "attn_output.weight": (tiny.WIDTH, rows)}
    attention |= {f"attn_{side}.weight": (head, tiny.WIDTH) for side in "kv"}
    values = tiny.values_of(tiny.LLAMA) | {
        "context_length": 2**31 - 1,
        "attention.head_count": heads,
        "attention.head_count_kv": 1,
        "attention.key_length": head,
        "attention.value_length": head,
        "rope.dimension_count": head,
    }
    tensors = tiny.tensors_of(tiny.LLAMA._replace(layer=tiny.BOTH | tiny.GATED))
    for layer in range(tiny.LAYERS):
        tensors |= {f"blk.{layer}.{name}": np.zeros(shape, np.float32) for name, shape in attention.items()}
    return write_gguf(path, "llama", values, tensors)


def long_texts(path, tokens):
    """Texts of 40,000 tokens each, at least `tokens` in all, and their number."""
    count = tokens // 40_000 + 1
    path.write_text((json.dumps({"text": "abcdefgh" * 5000}) + "\n") * count)
    return count


def test_a_context_beyond_memory(tmp_path):
    """A megabyte of cache for each token."""
    model = model_of_wide_heads(tmp_path / "model.gguf", 1, 32768)
    texts = tmp_path / "long.jsonl"
    count = long_texts(texts, free_memory() // 2**20 * 5 // 4)
    message = refusal(model, texts, tmp_path, "--max_length", 1_000_000, "--batch_size", count, "--exact")
    size = r"\d+\.\d [GT]iB"
    start = f"the keys and values of {count * 40_001} tokens take about {size} of memory, and {size} are free;"
    assert re.match(start, message), message
    assert message.endswith(" are free; pass a smaller --max_length or --batch_size")


def test_rows_beyond_memory(tmp_path):
    """A megabyte of rows for each token, and little cache."""
    model = model_of_wide_heads(tmp_path / "model.gguf", 256, 256)
    texts = tmp_path / "long.jsonl"
    count = long_texts(texts, free_memory() // 2**20 * 5 // 4)
    message = refusal(model, texts, tmp_path, "--max_length", 1_000_000, "--batch_size", count, "--sampling", "all")
    size = r"\d+\.\d [GT]iB"
    assert re.match(f"the rows of the texts that are read at once take {size} of memory, and {size} are free;", message)
    assert message.endswith(
        " are free; pass fewer --layers, another --sampling, or a smaller --rows_per_bucket, --max_length or --batch_size"
    )


def test_a_context_beyond_the_model(llama, texts, tmp_path):
    message = refusal(llama, texts, tmp_path, "--max_length", tiny.CONTEXT + 1, code=2)
    assert message == f"--max_length {tiny.CONTEXT + 1}: the model takes {tiny.CONTEXT} tokens"


def test_layers_and_heads_that_the_model_does_not_have(llama, texts, tmp_path):
    assert "4" in refusal(llama, texts, tmp_path, "--layers", 4, code=2)
    assert "4" in refusal(llama, texts, tmp_path, "--heads", 4, code=2)


def test_the_second_part_of_a_model(texts, tmp_path):
    first = tiny.write_model(tmp_path / "model.gguf", "llama", tensors_per_file=20)
    second = sorted(tmp_path.glob("model-*.gguf"))[1]
    assert first != second
    assert refusal(second, texts, tmp_path) == (
        "this is part 2 of 2 of a model; give the first one, and the others are found beside it"
    )
    second.unlink()
    assert "libllama cannot load it: " in refusal(first, texts, tmp_path)


def test_a_chat_template_that_is_missing(llama, texts, tmp_path):
    message = refusal(llama, texts, tmp_path, "--chat_template", code=2)
    assert message == "--chat_template: the tokenizer of this model has none"


def test_a_folder_with_another_capture(llama, texts, tmp_path):
    assert run(*capture_words(llama, texts, tmp_path / "dump")).returncode == 0
    before = sorted((tmp_path / "dump").rglob("*"))
    done = run(*capture_words(llama, texts, tmp_path / "dump", "--seed", 1))
    assert done.returncode == 6
    assert "the folder holds a dump already (--seed 0 there and 1 here)" in done.stderr
    assert sorted((tmp_path / "dump").rglob("*")) == before
    assert run(*capture_words(llama, texts, tmp_path / "dump", "--seed", 1, "--overwrite")).returncode == 0
    manifest = json.loads((tmp_path / "dump" / "capture.json").read_text())["manifest"]
    assert manifest["settings"]["seed"] == "1"


@pytest.mark.parametrize("parts", [0, 10])
def test_a_folder_with_other_weights_of_the_same_name(texts, tmp_path, parts):
    def model(folder, seed):
        (tmp_path / folder).mkdir()
        tensors = tiny.tensors_of(tiny.LLAMA)
        tensors["blk.3.ffn_down.weight"] = tiny.tensors_of(tiny.LLAMA, seed)["blk.3.ffn_down.weight"]
        return write_gguf(
            tmp_path / folder / "model.gguf", "llama", tiny.values_of(tiny.LLAMA), tensors, tensors_per_file=parts
        )

    first, copy, other = model("first", 0), model("copy", 0), model("other", 1)
    assert run(*capture_words(first, texts, tmp_path / "dump")).returncode == 0
    assert run(*capture_words(copy, texts, tmp_path / "dump")).returncode == 0
    done = run(*capture_words(other, texts, tmp_path / "dump"))
    assert done.returncode == 6
    assert "the folder holds a dump already (other weights of the model); name a new folder" in done.stderr
