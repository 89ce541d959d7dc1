"""Decoders of every family, made tiny and random by transformers: `heed check model` finds the states of each layer,
every attention, the logits and the loss of a padded batch, and a greedy text over a cache, as transformers gives them;
transformers opens what `heed convert` writes of them, and gives the same logits.

Runs where torch and transformers are installed, else says why it does not. Usage:
    python tests/peers/decoders_test.py build/release/heed [NAME ...]
"""

import json
import pathlib
import sys
import tempfile

from places import SKIPPED
from program import run

try:
    import torch
    import transformers
    from safetensors.torch import save_file
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

WORDS = 97
SIZES = {"vocab_size": WORDS, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3,
         "num_attention_heads": 4, "max_position_embeddings": 64}
GROUPED = SIZES | {"num_key_value_heads": 2}
TYPES = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "sliding_window": 5}
GEMMA4 = GROUPED | {
    "num_hidden_layers": 5, "head_dim": 16, "global_head_dim": 24, "sliding_window": 5, "vocab_size_per_layer_input": WORDS,
    "hidden_size_per_layer_input": 12,
    "layer_types": ["sliding_attention", "full_attention", "full_attention", "sliding_attention", "full_attention"]}
GPTJ = {"vocab_size": WORDS, "n_embd": 48, "n_layer": 3, "n_head": 4, "n_positions": 64}
FALCON = {"vocab_size": WORDS, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
          "max_position_embeddings": 64}
EXPERTS = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 20}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
DELTA_RULE = {"head_dim": 16, "linear_num_value_heads": 6, "linear_num_key_heads": 3, "linear_key_head_dim": 16,
              "linear_value_head_dim": 8, "num_hidden_layers": 5}
# The norm of a head's output enlarges the rounding of small ones: transformers' own states in f32 and f64 differ by
# 3e-4, its attention by 1.3e-5.
DELTA_RULE_TOLERANCE = {"hidden_states": 1e-3, "last_hidden_state": 1e-4, "logits": 1e-4, "loss": 1e-4,
                        "attentions": 4e-5}
# Rounding adds up over layers: in the last one, transformers' own attention in f32 and f64 differs by 1.3e-5.
TOLERANCES = {"gemma4 of 12 layers": {"attentions": 4e-5}}

CONFIGS = {
    "gpt2": ("GPT2LMHeadModel", GPTJ | {"n_inner": 80}),
    "gpt_neox": ("GPTNeoXForCausalLM", SIZES | {"rotary_pct": 0.5}),
    "gpt_neox in sequence": ("GPTNeoXForCausalLM", SIZES | {"use_parallel_residual": False, "rotary_pct": 1.0}),
    "gptj": ("GPTJForCausalLM", GPTJ | {"rotary_dim": 8}),
    "gpt_neo": ("GPTNeoForCausalLM", {
        "vocab_size": WORDS, "hidden_size": 48, "num_layers": 3, "num_heads": 4, "window_size": 4,
        "max_position_embeddings": 64, "attention_types": [[["global", "local", "local"], 1]]}),
    "opt": ("OPTForCausalLM", {"vocab_size": WORDS, "hidden_size": 48, "ffn_dim": 80, "num_hidden_layers": 3,
                               "num_attention_heads": 4, "max_position_embeddings": 64, "word_embed_proj_dim": 48}),
    "opt of 350 million": ("OPTForCausalLM", {
        "vocab_size": WORDS, "hidden_size": 48, "ffn_dim": 80, "num_hidden_layers": 3, "num_attention_heads": 4,
        "max_position_embeddings": 64, "word_embed_proj_dim": 32, "do_layer_norm_before": False}),
    "phi": ("PhiForCausalLM", GROUPED | {"partial_rotary_factor": 0.5}),
    "phi with norms of heads": ("PhiForCausalLM", GROUPED | {"partial_rotary_factor": 0.5, "qk_layernorm": True}),
    "phi3": ("Phi3ForCausalLM", GROUPED | {"sliding_window": 6}),
    "gemma": ("GemmaForCausalLM", GROUPED | {"head_dim": 16}),
    "gemma2": ("Gemma2ForCausalLM", GROUPED | TYPES | {"head_dim": 16, "query_pre_attn_scalar": 20}),
    "gemma3": ("Gemma3ForCausalLM", GROUPED | TYPES | {"head_dim": 16, "query_pre_attn_scalar": 20}),
    "gemma4": ("Gemma4ForCausalLM", GEMMA4 | {"num_kv_shared_layers": 2, "use_double_wide_mlp": True}),
    "gemma4 without words of layers": ("Gemma4ForCausalLM", GEMMA4 | {
        "hidden_size_per_layer_input": 0, "final_logit_softcapping": 4.0, "attention_bias": True}),
    "gemma4, keys are values": ("Gemma4ForCausalLM", GEMMA4 | {
        "attention_k_eq_v": True, "num_global_key_value_heads": 1, "num_kv_shared_layers": 2}),
    "gemma4 of 12 layers": ("Gemma4ForCausalLM", {key: value for key, value in GEMMA4.items() if key != "layer_types"} | {
        "num_hidden_layers": 12}),
    "llama": ("LlamaForCausalLM", GROUPED),
    "qwen3 with yarn": ("Qwen3ForCausalLM", GROUPED | {"head_dim": 16, "rope_parameters": YARN}),
    "olmo": ("OlmoForCausalLM", GROUPED),
    "olmo2": ("Olmo2ForCausalLM", GROUPED),
    "olmo3": ("Olmo3ForCausalLM", GROUPED | TYPES),
    "cohere": ("CohereForCausalLM", GROUPED),
    "cohere with norms of heads": ("CohereForCausalLM", GROUPED | {"use_qk_norm": True}),
    "cohere2": ("Cohere2ForCausalLM", GROUPED | TYPES),
    "stablelm": ("StableLmForCausalLM", GROUPED | {"partial_rotary_factor": 0.5, "use_qkv_bias": True}),
    "stablelm, parallel": ("StableLmForCausalLM", GROUPED | {"partial_rotary_factor": 0.5,
                                                             "use_parallel_residual": True}),
    "stablelm with norms of heads": ("StableLmForCausalLM", GROUPED | {
        "partial_rotary_factor": 0.5, "qk_layernorm": True, "use_parallel_residual": True}),
    "starcoder2": ("Starcoder2ForCausalLM", GROUPED | {"sliding_window": 6}),
    "smollm3": ("SmolLM3ForCausalLM", GROUPED | {"no_rope_layers": [1, 0, 1]}),
    "glm": ("GlmForCausalLM", GROUPED | {"head_dim": 16}),
    "glm4": ("Glm4ForCausalLM", GROUPED | {"head_dim": 16}),
    "granite": ("GraniteForCausalLM", GROUPED | {"embedding_multiplier": 2.0, "residual_multiplier": 0.3,
                                                 "attention_multiplier": 0.2, "logits_scaling": 3.0}),
    "nemotron": ("NemotronForCausalLM", GROUPED),
    "helium": ("HeliumForCausalLM", GROUPED | {"head_dim": 12}),
    "bloom": ("BloomForCausalLM", {"vocab_size": WORDS, "hidden_size": 48, "n_layer": 3, "n_head": 6}),
    "falcon": ("FalconForCausalLM", FALCON),
    "falcon, new": ("FalconForCausalLM", FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2}),
    "falcon in sequence": ("FalconForCausalLM", FALCON | {"multi_query": False, "parallel_attn": False,
                                                          "bias": True}),
    "qwen3_5, every fourth layer": ("Qwen3_5ForCausalLM", GROUPED | DELTA_RULE),
    "qwen3_5, every second layer": ("Qwen3_5ForCausalLM", GROUPED | DELTA_RULE | {
        "full_attention_interval": 2, "linear_conv_kernel_dim": 3, "attention_bias": True,
        "tie_word_embeddings": True}),
    "mixtral": ("MixtralForCausalLM", GROUPED | {"num_local_experts": 4, "num_experts_per_tok": 2}),
    "qwen2_moe": ("Qwen2MoeForCausalLM", GROUPED | EXPERTS | {"shared_expert_intermediate_size": 40,
                                                              "mlp_only_layers": [1]}),
    "qwen3_moe": ("Qwen3MoeForCausalLM", GROUPED | EXPERTS | {"head_dim": 16, "norm_topk_prob": True}),
    "gpt_oss": ("GptOssForCausalLM", GROUPED | {
        "head_dim": 16, "num_local_experts": 6, "num_experts_per_tok": 2, "sliding_window": 5, "swiglu_limit": 1.0}),
    "olmoe": ("OlmoeForCausalLM", GROUPED | EXPERTS),
}


def made(kind, settings, seed):
    kind = getattr(transformers, kind)
    config = kind.config_class(**{"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0} | settings,
                               attn_implementation="eager")
    model = kind(config).eval()
    generator = torch.Generator().manual_seed(seed)
    # Files of these hold it less 1.
    scale = 0.0 if "gemma" in config.model_type and config.model_type != "gemma4_text" else 1.0
    with torch.no_grad():
        for label, parameter in model.named_parameters():
            if not parameter.requires_grad:  # sinusoids
                continue
            noise = torch.randn(parameter.shape, generator=generator)
            is_scale = label.endswith("weight") and parameter.dim() == 1
            spread = 0.06 if label.endswith(".q.weight") else 0.25  # T5's scores are not scaled
            parameter.copy_(scale + 0.3 * noise if is_scale else spread * noise)
        for label, buffer in model.named_buffers():
            if label.endswith("layer_scalar"):
                buffer.copy_(1 + 0.3 * torch.randn(buffer.shape, generator=generator))
    return model


def texts(seed, length, kept):
    """Two texts, the second `kept` tokens long."""
    ids = torch.randint(3, WORDS, (2, length), generator=torch.Generator().manual_seed(seed))
    mask = torch.ones_like(ids)
    mask[1, kept:] = 0
    return ids, mask


def stacked(**kinds):
    """Names as `heed check model` reads them; the last state is named apart, since a norm may follow the last layer."""
    return {f"{kind}.{at}": value for kind, values in kinds.items() for at, value in enumerate(values)}


def attentions_of(model, attentions):
    """Numbered by layer: layers of linear attention have none."""
    kinds = getattr(model.config, "layer_types", None) or ["full_attention"] * len(attentions)
    layers = [layer for layer, kind in enumerate(kinds) if kind != "linear_attention"]
    return {f"attentions.{layer}": weights for layer, weights in zip(layers, attentions, strict=True)}


def golden_of_pass(model, more_inputs=lambda model, ids: {}):
    """Two texts, the second padded."""
    ids, mask = texts(3, 17, 11)
    labels, more = torch.where(mask == 1, ids, -100), more_inputs(model, ids)
    with torch.no_grad():
        out = model(ids, attention_mask=mask, labels=labels, output_attentions=True, output_hidden_states=True, **more)
    return {**more, "input_ids": ids, "attention_mask": mask, "labels": labels, "logits": out.logits,
            "loss": out.loss.reshape(1), "last_hidden_state": out.hidden_states[-1],
            **stacked(hidden_states=out.hidden_states[:-1]), **attentions_of(model, out.attentions)}


def golden_of(model):
    """Two texts, the second padded; then a text that the model goes on with."""
    golden = golden_of_pass(model)
    prompt = golden["input_ids"][:1, :9]
    with torch.no_grad():
        written = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=20,
                                 min_new_tokens=20, do_sample=False, eos_token_id=None)
    golden |= {"greedy_prompt": prompt, "greedy": written[:, 9:]}
    if getattr(model.config, "word_embed_proj_dim", None) not in (None, model.config.hidden_size):
        del golden["last_hidden_state"]  # of words, not of the stream
    return {name: tensor.contiguous().clone() for name, tensor in golden.items()}


def logits_of(model, golden):
    inputs = {key: golden[key] for key in ("input_ids", "attention_mask", "decoder_input_ids") if key in golden}
    with torch.no_grad():
        return model(**inputs).logits


def reopened(model, folder, golden):
    """The model that transformers reads from a folder, as the given one is set up, and its logits."""
    again = type(model).from_pretrained(folder, dtype=torch.float32,
                                        attn_implementation=model.config._attn_implementation).eval()
    return again, logits_of(again, golden)


def check(program, name, model, golden, scratch):
    folder, written = pathlib.Path(scratch) / name, pathlib.Path(scratch) / f"{name} written"
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    save_file(golden, folder / "golden.safetensors")
    is_hybrid = "linear_attention" in (getattr(model.config, "layer_types", None) or [])
    if tolerance := DELTA_RULE_TOLERANCE if is_hybrid else TOLERANCES.get(name):
        (folder / "golden.json").write_text(json.dumps({"tolerance": tolerance}))
    checked = run(program, "check", "model", folder)
    failed = [line for line in checked.stdout.splitlines() if line.startswith(("failed", "unknown"))]
    converted = run(program, "convert", folder, "-o", written)
    if checked.returncode or converted.returncode:
        print(f"{name}: " + "\n  ".join(failed + [checked.stderr.strip(), converted.stderr.strip()]))
        return False
    again, logits = reopened(model, written, golden)
    worst = (logits - logits_of(model, golden)).abs().max().item()
    ours = again.state_dict()
    changed = [key for key, value in model.state_dict().items() if not torch.equal(value, ours[key])]
    print(f"{name}: {len(golden)} tensors agree; logits of what heed wrote differ by {worst:.2g}, {len(changed)} weights do")
    # Products of experts round by where their memory lies.
    return not changed and worst <= 1e-5


def run_all(configs, golden_of):
    names = sys.argv[2:] or list(configs)
    with tempfile.TemporaryDirectory() as scratch:
        results = []
        for name in names:
            model = made(*configs[name], seed=len(name))
            results.append(check(sys.argv[1], name, model, golden_of(model), scratch))
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    run_all(CONFIGS, golden_of)
