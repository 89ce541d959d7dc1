"""Draws options of tiny models: other values of the settings that a configuration has, and other spellings of their
folders, as files of the hub have them. options_test.py compares what comes of them.
"""

import json
import random

from safetensors.torch import load_file, save_file

ACTIVATIONS = ["gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "relu", "silu", "swish", "relu2", "tanh",
               "gelu_fast", "gelu_python", "gelu_accurate", "gelu_10", "gelu_python_tanh", "mish", "leaky_relu",
               "hardswish", "laplace", "linear", "relu6", "sigmoid"]
SHARE = [0.25, 0.5, 0.75, 1.0, 0.34]
WIDTHS = [37, 53, 64]
HEADS = [1, 2, 3, 8]
COUNTS = [1, 2, 5]
POOLS = {
    "hidden_size": [40, 56, 60], "n_embd": [40, 56, 60], "dim": [40, 56], "d_model": [24, 60], "d_kv": [5, 12, 8],
    "vocab_size": [101, 128], "head_dim": [8, 10, 12, 20, None], "num_key_value_heads": [1, 2, 4, None],
    "num_kv_heads": [1, 2, 4], "num_attention_heads": [1, 2, 6, 12], "n_head": [1, 2, 3, 5], "num_heads": HEADS,
    "n_heads": HEADS, "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS,
    "num_hidden_layers": COUNTS, "n_layer": COUNTS, "num_layers": COUNTS, "n_layers": COUNTS,
    "encoder_layers": COUNTS, "decoder_layers": COUNTS, "num_decoder_layers": COUNTS,
    "moe_intermediate_size": [12, 24], "shared_expert_intermediate_size": [12, 24],
    "max_position_embeddings": [29, 37, 100], "n_positions": [29, 37, 100],
    "rope_theta": [100.0, 500000.0], "rotary_emb_base": [100.0], "rope_local_base_freq": [30.0],
    "global_rope_theta": [300.0], "local_rope_theta": [30.0],
    "rotary_dim": [2, 4, 12, None], "rotary_pct": SHARE, "partial_rotary_factor": SHARE,
    "sliding_window": [1, 2, 5, 16, 17, 100, None], "window_size": [1, 2, 100], "local_attention": [2, 3, 7, 100],
    "global_attn_every_n_layers": [1, 2, 5], "max_window_layers": [0, 1, 2, 9],
    "sliding_window_pattern": [1, 2, 3], "final_logit_softcapping": [None, 0.5, 5.0, 30.0],
    "attn_logit_softcapping": [None, 0.5, 5.0], "query_pre_attn_scalar": [3, 64], "embedding_multiplier": [0.5, 3.0],
    "residual_multiplier": [0.5, 3.0], "attention_multiplier": [0.1, 1.0], "logits_scaling": [0.5, 4.0, 16],
    "logit_scale": [0.1, 1.0, 2.5, None], "clip_qkv": [None, 0.5, 0.05], "pad_token_id": [0, 1, 3, 96, None],
    "bos_token_id": [None, 5], "eos_token_id": [None, 5, [4, 7]], "type_vocab_size": [1, 2, 3, 5],
    "relative_attention_num_buckets": [4, 6, 10, 12, 16, 32], "relative_attention_max_distance": [3, 6, 12, 128],
    "feed_forward_proj": ["relu", "gated-gelu", "gated-silu", "gelu", "gelu_new", "gated-relu", "silu"],
    "dense_act_fn": ["relu", "silu", "gelu"], "num_experts": [2, 5], "num_local_experts": [2, 5],
    "num_experts_per_tok": [1, 2, 3], "decoder_sparse_step": [1, 2, 3], "mlp_only_layers": [[], [0], [0, 2]],
    "embedding_size": [16, 48], "num_hidden_groups": [1, 2, 3], "inner_group_num": [1, 2],
    "word_embed_proj_dim": [48, 32], "no_rope_layer_interval": [1, 2, 3], "num_ln_in_parallel_attn": [None, 1, 2],
    "swiglu_limit": [0.3, 7.0], "swiglu_alpha": [1.702, 1.0], "decoder_start_token_id": [0, 5, 96],
    "initializer_factor": [0.05], "decoder_vocab_size": [101], "pretraining_tp": [2], "router_aux_loss_coef": [0.3],
    "position_embedding_type": ["absolute", "relative_key"], "scale_decoder_outputs": [True, False, None],
    "use_bidirectional_attention": [None, False, True], "is_causal": [False], "slow_but_exact": [True],
    "reorder_and_upcast_attn": [True], "residual_in_fp32": [True], "attention_bias": [True, False],
    "mlp_bias": [True, False], "is_gated_act": [True, False], "use_sliding_window": [True, False],
}
# The tests rely on these settings.
FIXED = {"is_encoder_decoder", "add_cross_attention", "return_dict", "output_hidden_states", "output_attentions",
         "sparse_prediction"}
KEPT = {"model_type", "vocab_size", "decoder_start_token_id", "bos_token_id"}  # needed to write a text
EXTRA = {"rope_theta", "partial_rotary_factor", "is_causal", "position_embedding_type", "sliding_window_pattern",
         "attention_bias", "mlp_bias"}


def pool(rng, key, value, config):
    """Other values of a setting; none: it stays."""
    layers = config.get("num_hidden_layers", 3)
    if key in POOLS:
        return POOLS[key]
    if key in FIXED:
        return []
    if key == "rope_parameters":
        return [rope(rng, config, value)]
    if key == "layer_types":
        return [rng.choices(["full_attention", "sliding_attention"], k=layers)]
    if key == "no_rope_layers":
        return [rng.choices([0, 1], k=layers)]
    if key == "attention_types":
        return [[[[rng.choice(["global", "local"])], 1], [["local"], config["num_layers"] - 1]],
                [[["local", "global"], 1], [["global"], config["num_layers"] - 2]]]
    if "activation" in key or key.endswith("_act"):
        return ACTIVATIONS if isinstance(value, str) else []
    if isinstance(value, bool):
        return [not value]
    if "eps" in key:
        return [1e-12, 1e-4, 0.1]
    if "drop" in key:
        return [0.3]
    if key.startswith("init"):
        return [0.3]
    if key in ("intermediate_size", "n_inner", "ffn_dim", "d_ff", "hidden_dim", "ffn_hidden_size",
               "encoder_ffn_dim", "decoder_ffn_dim"):
        return [24, 40] if "num_experts_per_tok" in config else WIDTHS
    return []


def one_rope(rng, config, rotated):
    kind = rng.choice(["default", "linear", "dynamic", "yarn", "yarn", "longrope", "llama3"])
    rope = {"rope_type": kind, "rope_theta": rng.choice([100.0, 10000.0, 500000.0])}
    if kind in ("linear", "dynamic", "yarn", "llama3"):
        rope["factor"] = rng.choice([1.0, 2.0, 4.0, 8])
    if kind in ("yarn", "longrope", "llama3"):
        rope["original_max_position_embeddings"] = rng.choice([8, 16, 40])
    more = {"yarn": {"beta_fast": [32, 4, 0.5], "beta_slow": [1, 2, 0.1], "mscale": [0.7, 1.0, 0], "mscale_all_dim":
                     [0.5, 1.0, 0], "attention_factor": [0.8, 1.3, None], "truncate": [True, False]},
            "longrope": {"attention_factor": [0.8, 1.2], "factor": [1.0, 3.0]}}.get(kind, {})
    rope |= {key: rng.choice(values) for key, values in more.items() if rng.random() < 0.4}
    if kind == "longrope":
        for key in ("short_factor", "long_factor"):
            rope[key] = [round(rng.uniform(1, 5), 2) for _ in range(rotated // 2)]
    if kind == "llama3":
        rope |= {"low_freq_factor": rng.choice([1.0, 2]), "high_freq_factor": rng.choice([4.0, 8])}
    return rope


def rope(rng, config, value):
    head = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    nested = [key for key in (value or {}) if key.endswith("_attention")]
    if nested:
        return {key: one_rope(rng, config, head) for key in nested}
    share = (value or {}).get("partial_rotary_factor")
    drawn = one_rope(rng, config, int(head * (share or 1)))
    return drawn | ({"partial_rotary_factor": share} if share else {})


def drawn_settings(rng, kind, base):
    config = kind.config_class(**base).to_dict()
    may = [key for key in sorted(set(config) | EXTRA) if pool(random.Random(0), key, config.get(key), config)]
    settings = dict(base)
    chosen = rng.sample(may, rng.choice([1, 2, 2, 3]))
    if "rope_parameters" in may and "rope_parameters" not in chosen and rng.random() < 0.35:
        chosen.append("rope_parameters")
    for key in chosen:
        settings[key] = rng.choice(pool(rng, key, config.get(key), config | settings))
        if key == "num_hidden_layers" and "layer_types" in settings:
            settings["layer_types"] = rng.choices(["full_attention", "sliding_attention"], k=settings[key])
    return settings


def older_rope(rng, json_of):
    """Positions as files of earlier years have them."""
    said = json_of.pop("rope_parameters", None)
    if said is None:
        return
    name = rng.choice(["rope_type", "type"])
    if "full_attention" in said or "sliding_attention" in said:
        is_modern = json_of["model_type"] == "modernbert"
        full, local = said.get("full_attention", {}), said.get("sliding_attention", {})
        json_of["global_rope_theta" if is_modern else "rope_theta"] = full.get("rope_theta")
        json_of["local_rope_theta" if is_modern else "rope_local_base_freq"] = local.get("rope_theta")
        said, name = full, "rope_type"  # transformers does not read `type` here
    elif json_of["model_type"] == "gpt_neox":
        json_of |= {"rotary_emb_base": said["rope_theta"], "rotary_pct": said["partial_rotary_factor"]}
    else:
        json_of["rope_theta"] = said["rope_theta"]
        if "partial_rotary_factor" in said:
            json_of["partial_rotary_factor"] = said["partial_rotary_factor"]
    apart = ("rope_theta", "rope_type", "partial_rotary_factor")
    rest = {key: value for key, value in said.items() if key not in apart}
    if said.get("rope_type", "default") != "default":
        json_of["rope_scaling"] = {name: said["rope_type"]} | rest
    elif rng.random() < 0.5:
        json_of["rope_scaling"] = None


def respell(rng, folder, kind):
    """Gives config.json a few other spellings; returns what they are."""
    path = folder / "config.json"
    json_of, default, done = json.loads(path.read_text()), kind.config_class().to_dict(), []
    if rng.random() < 0.3:
        older_rope(rng, json_of)
        done.append("older rope")
    if rng.random() < 0.3:
        kept = {key: value for key, value in json_of.items() if key in KEPT or default.get(key, "no") != value}
        done.append("defaults left out: " + " ".join(sorted(set(json_of) - set(kept))))
        json_of = kept
    if rng.random() < 0.2 and "layer_types" in json_of:
        del json_of["layer_types"]
        done.append("no layer_types")
    if rng.random() < 0.2:
        absent = [key for key, value in default.items() if value is None and key not in json_of]
        json_of |= dict.fromkeys(absent)
        done.append("nulls: " + " ".join(absent))
    key = rng.choice(sorted(set(json_of) - KEPT))
    if rng.random() < 0.1:
        done.append(f"{key} null instead of {json_of[key]}")
        json_of[key] = None
    elif rng.random() < 0.2:
        done.append(f"{key} left out instead of {json_of.pop(key)}")
    if rng.random() < 0.2:
        names = {own: other for other, own in (kind.config_class.attribute_map or {}).items() if own in json_of}
        json_of = {names.get(key, key): value for key, value in json_of.items()}
        done.append("aliases: " + " ".join(names.values()))
    if rng.random() < 0.3 and "dtype" in json_of:
        json_of["torch_dtype"] = json_of.pop("dtype")
    if rng.random() < 0.2:
        json_of.pop("architectures", None)
        done.append("no architectures")
    path.write_text(json.dumps(json_of))
    return done


def rename(rng, folder, model):
    """The tensors of one file without the model's prefix, as files of the bare model have them."""
    path, prefix = folder / "model.safetensors", model.base_model_prefix + "."
    if rng.random() < 0.8 or not path.exists():
        return []
    tensors = {name.removeprefix(prefix): tensor for name, tensor in load_file(path).items()}
    save_file(tensors, path, {"format": "pt"})
    return ["no prefix"]
