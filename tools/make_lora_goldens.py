#!/usr/bin/env python3
"""Writes the adapters in tests/models/golden/lora with the logits that peft and transformers give for them.

Needs torch, transformers, peft and safetensors; run from the repository's root, with names to make these alone. Weights are random (a fixed seed).
"""
import json
import pathlib
import shutil
import sys

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import save_file

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "models" / "golden" / "lora"
COMMON = {"vocab_size": 19, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
          "num_attention_heads": 4, "max_position_embeddings": 16, "bos_token_id": 0, "eos_token_id": 0,
          "pad_token_id": 0, "attn_implementation": "eager"}
LLAMA = COMMON | {"model_type": "llama", "num_key_value_heads": 2}

# The base's configuration, and the adapter's.
CASES = {
    "gpt2": ({"model_type": "gpt2", "vocab_size": 19, "n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 4,
              "bos_token_id": 0, "eos_token_id": 0, "attn_implementation": "eager"},
             {"target_modules": ["c_attn", "c_proj", "c_fc"], "r": 3, "lora_alpha": 5, "use_rslora": True,
              "fan_in_fan_out": True, "alpha_pattern": {"attn.c_proj": 7, "h.1.mlp.c_fc": 2}}),
    "gpt2-biases": ({"model_type": "gpt2", "vocab_size": 19, "n_positions": 16, "n_embd": 16, "n_layer": 2,
                     "n_head": 4, "bos_token_id": 0, "eos_token_id": 0, "attn_implementation": "eager"},
                    {"target_modules": ["c_attn"], "r": 2, "bias": "all", "fan_in_fan_out": True}),
    "llama": (LLAMA | {"tie_word_embeddings": True},
              {"target_modules": "all-linear", "r": 2, "rank_pattern": {"q_proj": 4}, "lora_alpha": 3}),
    "llama-words": (LLAMA | {"tie_word_embeddings": False},
                    {"target_modules": ["embed_tokens", "q_proj"], "modules_to_save": ["lm_head", "norm"], "r": 2}),
    "qwen2-biases": (COMMON | {"model_type": "qwen2", "num_key_value_heads": 2, "tie_word_embeddings": True},
                     {"target_modules": ["q_proj", "v_proj"], "r": 2, "bias": "lora_only"}),
    "phi3": (COMMON | {"model_type": "phi3", "num_key_value_heads": 2},
             {"target_modules": ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"], "r": 2}),
    "gpt-neox": (COMMON | {"model_type": "gpt_neox", "rotary_pct": 0.5},
                 {"target_modules": ["query_key_value", "dense", "dense_h_to_4h"], "r": 2}),
}


def spread(model, seed, trained=False):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad or not trained:
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))


def make(name, base, adapter):
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    model_type = base.pop("model_type")
    config = transformers.AutoConfig.for_model(model_type, **base)
    model = transformers.AutoModelForCausalLM.from_config(config).float().eval()
    spread(model, seed=1)
    model.save_pretrained(folder / "base")
    (folder / "base" / "generation_config.json").unlink(missing_ok=True)
    adapted = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **adapter)).eval()
    spread(adapted, seed=2, trained=True)
    adapted.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    saved = json.loads((folder / "adapter_config.json").read_text())
    saved["base_model_name_or_path"] = "base"
    (folder / "adapter_config.json").write_text(json.dumps(saved, indent=1) + "\n")
    # What loading gives: what was not saved is not in the golden.
    fresh = transformers.AutoModelForCausalLM.from_pretrained(folder / "base", attn_implementation="eager")
    loaded = PeftModel.from_pretrained(fresh.float().eval(), folder).eval()
    ids = torch.randint(1, 19, (2, 9), generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        logits = loaded(ids, attention_mask=torch.ones_like(ids)).logits
        with loaded.disable_adapter():
            change = (logits - loaded(ids, attention_mask=torch.ones_like(ids)).logits).abs().max().item()
    save_file({"input_ids": ids.int(), "logits": logits.contiguous()}, folder / "golden.safetensors")
    print(name, sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()), f"bytes, logits change by {change:.2f}")


if __name__ == "__main__":
    for each, (of_base, of_adapter) in CASES.items():
        if not sys.argv[1:] or each in sys.argv[1:]:
            make(each, dict(of_base), of_adapter)
