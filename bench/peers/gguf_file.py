"""Models of transformers as GGUF files, in the form of llama.cpp's converter."""
import gguf
import numpy


def gpt2_keys(config):
    return {"context_length": config["n_positions"], "embedding_length": config["n_embd"],
            "feed_forward_length": config["n_inner"] or 4 * config["n_embd"], "block_count": config["n_layer"],
            "attention.head_count": config["n_head"], "attention.layer_norm_epsilon": config["layer_norm_epsilon"]}


def bloom_keys(config):
    return {"embedding_length": config["hidden_size"], "feed_forward_length": 4 * config["hidden_size"],
            "block_count": config["n_layer"], "attention.head_count": config["n_head"],
            "attention.head_count_kv": config["n_head"], "attention.layer_norm_epsilon": config["layer_norm_epsilon"],
            "context_length": 1 << 20}


def falcon_keys(config):
    heads = config["num_attention_heads"]
    kv_heads = config["num_kv_heads"] if config["new_decoder_architecture"] else 1 if config["multi_query"] else heads
    return {"embedding_length": config["hidden_size"], "feed_forward_length": 4 * config["hidden_size"],
            "block_count": config["num_hidden_layers"], "attention.head_count": heads, "attention.head_count_kv": kv_heads,
            "attention.layer_norm_epsilon": config["layer_norm_epsilon"], "context_length": 64}


def usual_keys(config):
    """Those of every architecture whose converter adds none of its own."""
    rope = config.get("rope_parameters") or {}
    full = rope.get("full_attention", rope)
    keys = {"block_count": config["num_hidden_layers"], "context_length": config["max_position_embeddings"],
            "embedding_length": config["hidden_size"], "feed_forward_length": config["intermediate_size"],
            "attention.head_count": config["num_attention_heads"],
            "attention.head_count_kv": config.get("num_key_value_heads"),
            "rope.freq_base": full.get("rope_theta"),
            "rope.freq_base_swa": rope.get("sliding_attention", {}).get("rope_theta"),
            "attention.layer_norm_rms_epsilon": config.get("rms_norm_eps"),
            "attention.layer_norm_epsilon": config.get("layer_norm_eps", config.get("norm_epsilon")),
            "attention.key_length": config.get("head_dim"), "attention.value_length": config.get("head_dim")}
    if (kind := full.get("rope_type")) in ("linear", "yarn"):
        keys |= {"rope.scaling.type": kind, "rope.scaling.factor": full["factor"],
                 "rope.scaling.original_context_length": full.get("original_max_position_embeddings")}
    return keys


def keys_of(architecture, config):
    if own := {"gpt2": gpt2_keys, "bloom": bloom_keys, "falcon": falcon_keys}.get(architecture):
        keys = own(config)
        return {f"{architecture}.{key}": value for key, value in keys.items()}
    keys = usual_keys(config) if architecture != "t5" else {}
    if count := config.get("num_experts", config.get("num_local_experts")):
        keys |= {"expert_count": count, "expert_used_count": config["num_experts_per_tok"]}
    heads = config["num_attention_heads"] if architecture != "t5" else config["num_heads"]
    head_dim = config.get("head_dim") or (config.get("hidden_size", 0) // heads)
    rope = config.get("rope_parameters") or {}
    turned = int(rope.get("partial_rotary_factor", 1.0) * head_dim)
    without_base = {"rope.freq_base": None, "rope.freq_base_swa": None}
    if architecture == "phi2":
        keys |= without_base | {"rope.dimension_count": turned}
    elif architecture == "phi3":
        keys |= {"rope.dimension_count": turned, "attention.sliding_window": config.get("sliding_window") or 0}
        if "original_max_position_embeddings" in rope:
            more = numpy.log(config["max_position_embeddings"] / rope["original_max_position_embeddings"])
            keys |= {"rope.scaling.original_context_length": rope["original_max_position_embeddings"],
                     "rope.scaling.attn_factor": float(numpy.sqrt(
                         1 + more / numpy.log(rope["original_max_position_embeddings"])))}
    elif architecture == "gemma":
        keys |= without_base
    elif architecture == "gemma2":
        keys |= without_base | {"attn_logit_softcapping": config["attn_logit_softcapping"],
                                "final_logit_softcapping": config["final_logit_softcapping"],
                                "attention.sliding_window": config["sliding_window"]}
    elif architecture == "gemma3":
        keys |= {"attention.sliding_window": config["sliding_window"]}
    elif architecture == "gptneox":
        keys |= without_base | {"rope.dimension_count": turned, "use_parallel_residual": config["use_parallel_residual"]}
    elif architecture == "stablelm":
        keys |= without_base | {"rope.dimension_count": turned, "use_parallel_residual": config["use_parallel_residual"]}
    elif architecture == "olmo":
        keys |= {"attention.layer_norm_epsilon": 1e-5}
    elif architecture == "olmo2" and config["model_type"] == "olmo3":
        keys |= {"attention.sliding_window": config["sliding_window"],
                 "attention.sliding_window_pattern": [kind == "sliding_attention" for kind in config["layer_types"]]}
    elif architecture == "command-r":
        keys |= {"logit_scale": config["logit_scale"]}
    elif architecture == "cohere2":
        keys |= {"logit_scale": config["logit_scale"], "attention.sliding_window": config["sliding_window"],
                 "vocab_size": config["vocab_size"], "rope.dimension_count": head_dim}
    elif architecture in ("qwen2moe", "qwen3moe"):
        keys |= {"expert_feed_forward_length": config["moe_intermediate_size"],
                 "expert_shared_feed_forward_length": config.get("shared_expert_intermediate_size")}
    elif architecture == "gpt-oss":
        keys |= {"expert_feed_forward_length": config["intermediate_size"],
                 "attention.sliding_window": config["sliding_window"]}
    elif architecture == "granite":
        keys |= {"vocab_size": config["vocab_size"], "rope.dimension_count": head_dim,
                 "attention.scale": config["attention_multiplier"], "embedding_scale": config["embedding_multiplier"],
                 "residual_scale": config["residual_multiplier"], "logit_scale": config["logits_scaling"]}
    elif architecture == "nemotron":
        keys |= {"rope.dimension_count": turned, "attention.layer_norm_epsilon": config["norm_eps"]}
    elif architecture == "glm4":
        keys |= {"rope.dimension_count": turned}
    elif architecture in ("llama", "smollm3"):
        keys |= {"vocab_size": config["vocab_size"], "rope.dimension_count": head_dim}
    elif architecture == "t5":
        keys |= {"context_length": config.get("n_positions", 512), "embedding_length": config["d_model"],
                 "feed_forward_length": config["d_ff"], "block_count": config["num_layers"],
                 "decoder_block_count": config["num_decoder_layers"], "attention.head_count": heads,
                 "attention.key_length": config["d_kv"], "attention.value_length": config["d_kv"],
                 "attention.layer_norm_epsilon": config["layer_norm_epsilon"],
                 "attention.relative_buckets_count": config["relative_attention_num_buckets"],
                 "attention.layer_norm_rms_epsilon": config["layer_norm_epsilon"],
                 "decoder_start_token_id": config["decoder_start_token_id"]}
    return {f"{architecture}.{key}": value for key, value in keys.items() if value is not None}


def permuted(weights, heads):
    """The rows of a rotated pair side by side."""
    return weights.reshape(heads, 2, weights.shape[0] // heads // 2, *weights.shape[1:]).swapaxes(1, 2).reshape(weights.shape)


def changed(architecture, name, array, config):
    if architecture in ("llama", "olmo", "smollm3", "granite") and (".q_proj." in name or ".k_proj." in name):
        return permuted(array, config["num_attention_heads" if ".q_proj." in name else "num_key_value_heads"])
    if (architecture.startswith("gemma") or architecture == "nemotron") and name.endswith("norm.weight"):
        return array + numpy.float32(1)
    if architecture == "gpt2" and name.endswith((".c_attn.weight", ".c_fc.weight", ".c_proj.weight")):
        return array.T
    if ".query_key_value." in name:
        heads = config.get("num_attention_heads", config.get("n_head"))
        keys = falcon_keys(config)["attention.head_count_kv"] if architecture == "falcon" else heads
        groups = array.reshape(keys, heads // keys + 2, -1, *array.shape[1:])
        return numpy.concatenate([part.reshape(-1, *array.shape[1:])
                                  for part in (groups[:, :-2], groups[:, -2], groups[:, -1])])
    return array


def factors_of(config):
    """The tensors of factors by which frequencies are divided."""
    rope = config.get("rope_parameters") or {}
    if rope.get("rope_type") == "longrope":
        return {f"rope_factors_{length}.weight": numpy.float32(rope[f"{length}_factor"]) for length in ("long", "short")}
    if rope.get("rope_type") != "llama3":
        return {}
    width = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    waves = 2 * numpy.pi * rope["rope_theta"] ** (numpy.arange(0, width, 2) / width)
    smooth = (8192 / waves - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
    between = 1 / ((1 - smooth) / rope["factor"] + smooth)
    slow, fast = waves > 8192 / rope["low_freq_factor"], waves < 8192 / rope["high_freq_factor"]
    return {"rope_freqs.weight": numpy.float32(numpy.where(slow, rope["factor"], numpy.where(fast, 1, between)))}


def gpt_oss_parts(name, parameter):
    """The rows of gate and up, which take turns on the hub, and matrices as [outputs, inputs]."""
    name, is_bias = name.removesuffix("_bias"), name.endswith("_bias")
    ending = ".bias" if is_bias else ".weight"
    rows = parameter if is_bias else parameter.mT
    if name.endswith("gate_up_proj"):
        at = -1 if is_bias else -2
        for part, first in (("gate_proj", 0), ("up_proj", 1)):
            yield name.replace("gate_up_proj", part) + ending, rows.unflatten(at, (-1, 2)).select(at, first)
    else:
        yield name + ending, rows


def separate_experts(parameters):
    """Gate and up of experts, which transformers has as one, each in a tensor of all experts."""
    for name, parameter in parameters:
        if name.endswith("self_attn.sinks"):
            yield f"{name}.weight", parameter
            continue
        if name.endswith(("gate_up_proj_bias", "down_proj_bias")) or (
                name.endswith(("experts.gate_up_proj", "experts.down_proj")) and f"{name}_bias" in dict(parameters)):
            yield from gpt_oss_parts(name, parameter)
            continue
        if name.endswith("experts.gate_up_proj"):
            for part, half in zip(("gate_proj", "up_proj"), parameter.chunk(2, dim=1), strict=True):
                yield name.replace("gate_up_proj", f"{part}.weight"), half
        else:
            yield f"{name}.weight" if name.endswith("experts.down_proj") else name, parameter


def tensors_of(architecture, parameters, config):
    """The converter's names and layouts. `parameters` are pairs of a name and a tensor, with tied ones once."""
    layers = config.get("num_hidden_layers") or config.get("n_layer") or config["num_layers"]
    names = gguf.get_tensor_name_map(next(arch for arch, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture),
                                     max(layers, config.get("num_decoder_layers") or 0))
    tensors = factors_of(config)
    for name, parameter in separate_experts(list(parameters)):
        spellings = (name, name.removeprefix("transformer."), name.removeprefix("bert."))
        stored = next(filter(None, (names.get_name(spelling, (".weight", ".bias")) for spelling in spellings)), None)
        assert stored, f"gguf has no name for {name}"
        tensors[stored] = numpy.ascontiguousarray(changed(architecture, name, numpy.asarray(parameter), config))
    return tensors


def of_model(architecture, model):
    """Keys and tensors of a model of transformers."""
    config = model.config.to_dict()
    parameters = [(name, parameter.detach()) for name, parameter in model.named_parameters()]
    return keys_of(architecture, config), tensors_of(architecture, parameters, config)


def add_ends(writer):
    """The tokens that begin and end a text, in a file without words."""
    if writer.arch != "t5":
        writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def write(path, architecture, keys, tensors, vocabulary=add_ends, kinds=None):
    """`kinds` are the types of tensors given in blocks (default: MXFP4)."""
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in keys.items():
        add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string,
               list: writer.add_array}[type(value)]
        add(key, value)
    vocabulary(writer)
    for name, array in tensors.items():
        packed = (kinds or {}).get(name, gguf.GGMLQuantizationType.MXFP4) if array.dtype == numpy.uint8 else None
        writer.add_tensor(name, array, raw_dtype=packed)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_model(path, model, architecture, dtype):
    """A f32 model without words; its matrices become `dtype` (f32 or bf16)."""
    keys, tensors = of_model(architecture, model.float())
    kind, file = gguf.GGMLQuantizationType.BF16, gguf.LlamaFileType.ALL_F32
    if dtype == "bf16":
        tensors = {name: gguf.quantize(array, kind) if array.ndim == 2 else array for name, array in tensors.items()}
        file = gguf.LlamaFileType.MOSTLY_BF16
    keys |= {"general.file_type": int(file), f"{architecture}.vocab_size": model.config.vocab_size}
    write(path, architecture, keys, tensors, lambda writer: writer.add_tokenizer_model("no_vocab"),
          dict.fromkeys(tensors, kind))
