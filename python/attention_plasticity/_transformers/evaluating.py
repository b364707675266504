"""What cache plans cost: the loss of the model with some of its KV heads cut to sinks and a window."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._errors import ConfigError
from .._files import write_text
from .._printable import printable_lines, printable_text
from .._progress import Progress
from .._result import Result, load
from .._study import Plan, plan as make_plan, read_plan
from .capturing import layer_shapes
from .cutting import Cutting
from .documents import Document, batches
from .forward import padded, run
from .models import LoadedModel
from .opening import check_counts, open_model_and_texts

if TYPE_CHECKING:
    import pandas as pd

SHARES = (0.25, 0.5, 0.75)
RANDOM = "random"


@dataclass
class _Variant:
    """A plan to price."""

    ranking: str
    plan: Plan

    @property
    def kept(self) -> float:
        """The share of the KV heads without a sliding window that keep their whole cache."""
        kinds = self.plan.heads["kind"]
        free = kinds[kinds != "sliding"]
        return float((free == "full").mean()) if len(free) else 1.0


class Evaluation:
    """The loss of a model, in nats a token, with everything kept, with everything cut, and with plans.

    Attributes:
        table: a row for each plan: `ranking`, `kept` (share of the KV heads), `loss`, `difference` to everything kept, and
            its standard `error` over documents (NaN: one document).
        losses: the loss of each document (rows) with each plan (columns, in the order of the table).
    """

    def __init__(self, model: str, table: pd.DataFrame, losses: pd.DataFrame, tokens: int, window: int, sinks: int) -> None:
        self.model = model
        self.table = table
        self.losses = losses
        self.tokens = tokens
        self.window = window
        self.sinks = sinks

    def __repr__(self) -> str:
        lines = [
            f"{printable_text(self.model)}: {len(self.losses)} documents, {self.tokens} tokens; cut heads keep {self.sinks} + {self.window}"
            " tokens",
            f"{'ranking':<24}{'kept':>7}{'loss':>9}{'difference':>12}{'error':>9}",
        ]
        for row in self.table.itertuples():
            error = "" if np.isnan(row.error) else f"{row.error:.4f}"
            lines.append(f"{row.ranking:<24}{row.kept:>7.1%}{row.loss:>9.4f}{row.difference:>+12.4f}{error:>9}")
        return printable_lines("\n".join(lines))

    def _repr_html_(self) -> str:
        return str(self.table.to_html(index=False))

    def json(self) -> dict[str, Any]:
        """All of it as what JSON holds."""
        rows = json.loads(self.table.to_json(orient="records", double_precision=15))
        return {
            "kind": "attention-plasticity evaluation",
            "model": self.model,
            "documents": len(self.losses),
            "tokens": self.tokens,
            "window": self.window,
            "sinks": self.sinks,
            "rows": rows,
        }

    def to_file(self, file: str | os.PathLike[str]) -> Path:
        """Writes it as JSON."""
        path = Path(os.fsdecode(file))
        write_text(path, json.dumps(self.json(), indent=2) + "\n")
        return path


def _document_losses(loaded: LoadedModel, documents: list[Document], cutting: Cutting, attention: str | None) -> list[float]:
    import torch

    logits = run(loaded, padded(loaded, [document.ids for document in documents]), cutting, logits=True, attention=attention)
    losses = []
    for row, document in zip(logits, documents):
        ids = torch.from_numpy(document.ids[1:]).to(row.device)
        # In blocks, since float32 logits of a long document can be the largest tensor of all.
        total = 0.0
        for part, wanted in zip(row[: len(ids)].split(512), ids.split(512)):
            total += float(torch.nn.functional.cross_entropy(part.float(), wanted, reduction="sum"))
        losses.append(total / len(ids))
    return losses


def _cut_heads(plan: Plan, shapes: list[dict[str, Any]]) -> dict[int, np.ndarray[Any, np.dtype[np.bool_]]]:
    kinds = plan.heads["kind"]
    layers = sorted({int(layer) for layer, _ in kinds.index})
    cut = {layer: (kinds.loc[layer] == "window").to_numpy() for layer in layers}
    for layer, heads in cut.items():
        there = shapes[layer]["k_heads"] if layer < len(shapes) else 0
        if len(heads) != there:
            raise ConfigError(f"the plan has {len(heads)} KV heads in layer {layer}, the model has {there}")
    return cut


def _random_labels(result: Result, seed: int) -> pd.DataFrame:
    labels = result.heads.reset_index()[["layer", "q_head"]]
    return labels.assign(**{RANDOM: np.random.default_rng(seed).random(len(labels))})


def _variants(
    results: Result | str | os.PathLike[str] | None,
    labels: Any,
    rankings: Sequence[str],
    shares: Sequence[float],
    random_seeds: int,
    options: dict[str, Any],
) -> list[_Variant]:
    if not rankings:
        return []
    if results is None:
        raise ConfigError("`rankings`: pass `results`, the run whose heads are ranked")
    result = results if isinstance(results, Result) else load(results)
    found = []
    for ranking in rankings:
        if ranking == RANDOM:
            for seed in range(random_seeds):
                frame = _random_labels(result, seed)
                for share in shares:
                    made = make_plan(result, keep=share, column=RANDOM, labels=frame, **options)
                    found.append(_Variant(f"{RANDOM} {seed}", made))
            continue
        for share in shares:
            found.append(_Variant(ranking, make_plan(result, keep=share, column=ranking, labels=labels, **options)))
    return found


def evaluate_plan(
    model: Any,
    plan: Plan | str | os.PathLike[str] | None,
    texts: Any,
    *,
    tokenizer: Any = None,
    results: Result | str | os.PathLike[str] | None = None,
    labels: Any = None,
    rankings: Sequence[str] | None = None,
    shares: Sequence[float] = SHARES,
    random_seeds: int = 3,
    group: Literal["max", "mean"] | None = None,
    window: int | None = None,
    sinks: int | None = None,
    batch_size: int = 1,
    max_length: int | None = None,
    max_documents: int | None = None,
    long_texts: Literal["cut", "chunk"] = "cut",
    text_field: str = "text",
    text_split: str = "train",
    chat_template: bool = False,
    dtype: str | None = None,
    device: str | None = None,
    device_map: str | None = None,
    attention: str | None = None,
    revision: str | None = None,
    gguf_file: str | None = None,
    trust_remote_code: bool | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Measures the loss of a model with a cache plan, with everything kept and with everything cut.

    Args:
        model: as for `capture`.
        plan: what `ap.plan` gives, or a file of it; None: curves alone.
        texts: as for `capture`.
        results: a result, or its folder, whose columns are ranked by.
        labels: a file, or a data frame with layer and q_head, whose columns are ranked by.
        rankings: a curve for each, over the `shares` of the KV heads that keep their cache. A ranking is what `ap.plan`
            takes as `column`, or "random", which stands for `random_seeds` rankings; None: ap_exact and random when there
            are results.
        shares: of the KV heads that keep their cache.
        random_seeds: how many random rankings there are.
        group: as for `ap.plan`.
        window: as for `ap.plan`; None: that of the plan.
        sinks: likewise.

    Cut heads see their sinks and their window in every layer, as the model reads whole documents; nothing is generated.
    Model, texts and the other options are those of `capture`.
    """
    check_counts(batch_size=batch_size, random_seeds=random_seeds)
    for share in shares:
        if not 0 <= share <= 1:
            raise ConfigError(f"`shares`: {share} is no share; shares lie between 0 and 1")
    given = read_plan(plan) if isinstance(plan, (str, os.PathLike)) else plan
    if rankings is None:
        rankings = () if results is None else ("ap_exact", RANDOM)
    if given is None and not rankings:
        raise ConfigError("`plan` or `results` is needed: there is no plan to price")
    if given is not None:
        window = given.window if window is None else window
        sinks = given.sinks if sinks is None else sinks
    sizes = {name: value for name, value in (("group", group), ("window", window), ("sinks", sinks)) if value is not None}
    variants = [] if given is None else [_Variant("plan", given)]
    variants += _variants(results, labels, rankings, shares, random_seeds, sizes)
    opened = open_model_and_texts(
        model,
        tokenizer,
        texts,
        max_length=max_length,
        max_documents=max_documents,
        long_texts=long_texts,
        text_field=text_field,
        text_split=text_split,
        chat_template=chat_template,
        dtype=dtype,
        device=device,
        device_map=device_map,
        attention=attention,
        revision=revision,
        gguf_file=gguf_file,
        trust_remote_code=trust_remote_code,
    )
    documents = [document for document in opened.documents if len(document.ids) > 1]
    if not documents:
        raise ConfigError("no text has two tokens, so there is nothing to predict")
    with Progress(progress) as tell:
        return _evaluation(opened.loaded, documents, variants, batch_size, tell)


def _evaluation(
    loaded: LoadedModel, documents: list[Document], variants: list[_Variant], batch_size: int, tell: Progress
) -> Evaluation:
    import pandas as pd

    shapes = layer_shapes(loaded)
    first = variants[0].plan
    kinds = first.heads["kind"]
    nothing = {layer: np.zeros(shape["k_heads"], np.bool_) for layer, shape in enumerate(shapes) if shape["k_heads"]}
    everything = {layer: (kinds.loc[layer] != "sliding").to_numpy() for layer in _cut_heads(first, shapes)}
    # Flash attention takes no mask.
    own = loaded.model.config.get_text_config()._attn_implementation
    attention = None if own in ("sdpa", "eager") else "sdpa"
    passes = [("all kept", 1.0, nothing, first), ("all cut", 0.0, everything, first)]
    passes += [(variant.ranking, variant.kept, _cut_heads(variant.plan, shapes), variant.plan) for variant in variants]
    losses = np.empty((len(documents), len(passes)))
    for column, (_, _, cut, plan) in enumerate(passes):
        cutting = Cutting(cut, plan.window, plan.sinks)
        for batch in batches(range(len(documents)), batch_size):
            losses[batch, column] = _document_losses(loaded, [documents[n] for n in batch], cutting, attention)
            tell("step", "passes", column * len(documents) + batch[-1] + 1, losses.size, "document")
    differences = losses - losses[:, :1]
    count = len(documents)
    errors = differences.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.full(len(passes), np.nan)
    table = pd.DataFrame(
        {
            "ranking": [name for name, _, _, _ in passes],
            "kept": [kept for _, kept, _, _ in passes],
            "loss": losses.mean(axis=0),
            "difference": differences.mean(axis=0),
            "error": errors,
        }
    )
    named = pd.DataFrame(losses, columns=[f"{name} {kept:.3f}" for name, kept, _, _ in passes])
    tokens = sum(len(document.ids) for document in documents)
    return Evaluation(loaded.name, table, named, tokens, first.window, first.sinks)
