"""Texts of every kind, and what is wrong with them."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import attention_plasticity as ap
from attention_plasticity._transformers.documents import digest, longest, tokenized
from attention_plasticity._transformers.models import LoadedModel
from attention_plasticity._transformers.texts import Text, read_texts

from conftest import byte_tokenizer

WORDS = ["first document", "second\ndocument", "third"]


def read(*given, **options):
    return [text.text for text in read_texts(*given, **options)]


def test_files_of_every_kind_hold_the_same_texts(tmp_path):
    (tmp_path / "folder").mkdir()
    for number, text in enumerate(WORDS):
        (tmp_path / "folder" / f"{number}.txt").write_text(text)
    (tmp_path / "lines.jsonl").write_text("\n".join(json.dumps({"text": text, "id": 1}) for text in WORDS) + "\n\n")
    pq.write_table(pa.table({"id": [1, 2, 3], "text": WORDS}), tmp_path / "table.parquet", row_group_size=1)
    for source in ("folder", "lines.jsonl", "table.parquet"):
        assert read(tmp_path / source) == WORDS
        assert read(str(tmp_path / source), max_documents=2) == WORDS[:2]
    assert read(WORDS) == WORDS
    assert read(iter(WORDS)) == WORDS
    assert read(tmp_path / "folder" / "1.txt") == [WORDS[1]]


def test_the_field_has_a_name(tmp_path):
    (tmp_path / "lines.jsonl").write_text('{"body": "x"}\n')
    pq.write_table(pa.table({"body": ["x"]}), tmp_path / "table.parquet")
    for file in ("lines.jsonl", "table.parquet"):
        assert read(tmp_path / file, field="body") == ["x"]
        with pytest.raises(ap.InputError, match="no (field|column) text, only body; pass `text_field`"):
            read(tmp_path / file)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"text": "x"}\n{"text": \n', "a.jsonl:2: this line is no JSON"),
        ("a.jsonl", b"[" * 100_000 + b"\n", "a.jsonl:1: this line is JSON that is nested too deeply"),
        ("a.jsonl", b"[1]\n", "a.jsonl:1: this line is no JSON object"),
        ("a.jsonl", b'{"text": 3}\n', "a.jsonl:1: the field text is int, it should be text"),
        ("a.jsonl", b'{"text": " "}\n', "a.jsonl:1: the text is empty; leave it out"),
        ("a.jsonl", b"", "a.jsonl: there are no texts"),
        ("a.txt", b"\n", "a.txt: the text is empty; leave it out"),
        ("a.txt", b"abc\xff", r"a.txt: this is no UTF-8 text \(byte 3\)"),
        ("a.parquet", b"PAR2", "a.parquet: this is no Parquet file"),
        ("a.csv", b"text\nx\n", "a.csv: texts are .txt, .jsonl, .parquet files"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ap.InputError, match=message):
        read(tmp_path / name)


def test_what_is_no_text_is_refused(tmp_path):
    for source, message in (
        (tmp_path / "none.txt", "there is no such file or folder"),
        (tmp_path, "this folder has no texts"),
        ([], "there are no texts"),
        (["x", ""], "text 1: the text is empty"),
        (["x", 1.5], "text 1 is float, it should be a string or a list of token ids"),
        ([[3, -1]], "text 0 is list, it should be a string or a list of token ids"),
    ):
        with pytest.raises(ap.InputError, match=message):
            read(source)
    with pytest.raises(ap.ConfigError, match="int is no file, folder, dataset or list"):
        read(3)


def test_the_sample_is_long_enough_for_a_first_try():
    texts = read("sample")
    assert len(texts) > 10
    assert sum(len(text.split()) for text in texts) > 20_000


def test_long_texts_are_cut_or_taken_apart(model):
    loaded = LoadedModel(model, byte_tokenizer(), "small")
    texts = [Text("a" * 250, "one"), Text("b" * 30, "two")]

    def lengths(**options):
        return [len(document.ids) for document in tokenized(loaded, texts, max_length=100, **options)]

    assert lengths() == [100, 30]
    assert lengths(long_texts="chunk") == [100, 100, 30]  # a rest of 50 tokens or less is left out
    assert lengths(long_texts="chunk", max_documents=2) == [100, 100]
    assert longest(loaded, None) == 512
    assert longest(loaded, 64) == 64
    with pytest.raises(ap.ConfigError, match="the model takes 512 tokens"):
        longest(loaded, 513)


def test_the_digest_is_that_of_the_documents(model):
    loaded = LoadedModel(model, byte_tokenizer(), "small")

    def of(*texts):
        return digest(tokenized(loaded, [Text(text, "") for text in texts], max_length=100))

    assert of("ab", "c") == of("ab", "c")
    assert len({of("ab", "c"), of("a", "bc"), of("abc"), of("c", "ab")}) == 4


def test_token_ids_must_be_the_models(model):
    loaded = LoadedModel(model, None, "small")
    with pytest.raises(ap.InputError, match="the tokenizer gives token 300, the model has 300"):
        tokenized(loaded, read_texts([np.array([1, 300])]), max_length=100)
    with pytest.raises(ap.ConfigError, match="there is no tokenizer"):
        tokenized(loaded, [Text("x", "")], max_length=100)
    with pytest.raises(ap.ConfigError, match="`chat_template`: the tokenizer of this model has none"):
        tokenized(LoadedModel(model, byte_tokenizer(), ""), [Text("x", "")], max_length=9, chat_template=True)


def test_a_chat_template_is_used_when_asked_for(model):
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    loaded = LoadedModel(model, tokenizer, "small")
    plain = tokenized(loaded, [Text("hello", "")], max_length=100)[0].ids
    chat = tokenized(loaded, [Text("hello", "")], max_length=100, chat_template=True)[0].ids
    assert tokenizer.decode(plain) == "hello"
    assert tokenizer.decode(chat) == "<user>hello"
