#!/usr/bin/env python3
"""Writes the small models in tests/models/golden with the numbers that transformers gives for them.

Needs torch, transformers and safetensors; run from the repository's root. The weights are random
(a fixed seed) and spread so that attention is far from uniform and every bias and norm matters.
"""
import json
import pathlib
import shutil
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors
from transformers import (BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, MarianConfig,
                          MarianMTModel, Qwen3_5ForCausalLM, Qwen3_5TextConfig, Qwen3Config,
                          Qwen3ForCausalLM, T5Config, T5ForConditionalGeneration)

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "models" / "golden"


def spread(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" in name:  # Marian's are computed, not stored
                continue
            noise = torch.randn(parameter.shape, generator=generator)
            centre = 1.0 if "norm" in name.lower().replace("ln_", "norm") and name.endswith("weight") else 0.0
            parameter.copy_(centre + 0.35 * noise)


def golden_of(model, ids, mask, labels, **more):
    with torch.no_grad():
        out = model(ids, attention_mask=mask, labels=labels, output_attentions=True,
                    output_hidden_states=True, **more)
    tensors = {**more, "input_ids": ids, "attention_mask": mask, "labels": labels, "logits": out.logits,
               "loss": out.loss.reshape(1), "last_hidden_state": out.hidden_states[-1]}
    for index, state in enumerate(out.hidden_states[:-1]):
        tensors[f"hidden_states.{index}"] = state
    kinds = getattr(model.config, "layer_types", None) or []
    attending = [index for index in range(len(out.hidden_states) - 1)
                 if index >= len(kinds) or kinds[index] != "linear_attention"]
    for index, weights in zip(attending, out.attentions, strict=True):
        tensors[f"attentions.{index}"] = weights
    return {name: tensor.contiguous().clone() for name, tensor in tensors.items()}


def save(name, model, tensors):
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    save_file(tensors, folder / "golden.safetensors")


def inputs_of(vocabulary, length, kept, seed=8):
    """Two texts, the second `kept` tokens long and then padded."""
    ids = torch.randint(1, vocabulary, (2, length), generator=torch.Generator().manual_seed(seed))
    mask = torch.ones_like(ids)
    mask[1, kept:] = 0
    return ids, mask


def make_gpt2():
    config = GPT2Config(vocab_size=61, n_positions=24, n_embd=24, n_layer=2, n_head=3,
                        bos_token_id=0, eos_token_id=0, attn_pdrop=0.0, resid_pdrop=0.0,
                        embd_pdrop=0.0, attn_implementation="eager")
    model = GPT2LMHeadModel(config).eval()
    spread(model, seed=7)
    ids = torch.randint(0, 61, (2, 13), generator=torch.Generator().manual_seed(8))
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    labels = torch.where(mask == 1, ids, -100)
    save("gpt2", model, golden_of(model, ids, mask, labels))


def make_llama():
    """Of that family the member with most parts: norms of heads, shared keys, windows, scaling."""
    config = Qwen3Config(vocab_size=61, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                         max_position_embeddings=64, tie_word_embeddings=True,
                         rope_parameters={"rope_type": "yarn", "rope_theta": 1000.0, "factor": 4.0,
                                          "original_max_position_embeddings": 16},
                         layer_types=["full_attention", "sliding_attention"],
                         use_sliding_window=True, sliding_window=4,
                         attn_implementation="eager")
    model = Qwen3ForCausalLM(config).eval()
    spread(model, seed=7)
    ids, mask = inputs_of(61, 13, 9)
    save("llama", model, golden_of(model, ids, mask, torch.where(mask == 1, ids, -100)))


def make_qwen3_5():
    """Layers with attention between and behind recurrent ones; greedy text over a cache."""
    config = Qwen3_5TextConfig(**QWEN3_5, attn_implementation="eager")
    model = Qwen3_5ForCausalLM(config).eval()
    spread(model, seed=7)
    ids, mask = inputs_of(61, 13, 9)
    tensors = golden_of(model, ids, mask, torch.where(mask == 1, ids, -100))
    tensors["greedy_prompt"] = ids[:1, :5].clone()
    with torch.no_grad():
        written = model.generate(tensors["greedy_prompt"], do_sample=False, max_new_tokens=24, use_cache=True)
    tensors["greedy"] = written[:, 5:].clone()
    save("qwen3_5", model, tensors)


def make_bert():
    config = BertConfig(vocab_size=61, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                        num_attention_heads=3, max_position_embeddings=24,
                        attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0,
                        attn_implementation="eager")
    model = BertForMaskedLM(config).eval()
    spread(model, seed=7)
    ids, mask = inputs_of(61, 13, 9)
    types = torch.zeros_like(ids)
    types[:, 6:] = 1
    labels = torch.full_like(ids, -100)
    labels[0, 2:5] = ids[0, 2:5]
    save("bert", model, golden_of(model, ids, mask, labels, token_type_ids=types))


def make_marian():
    config = MarianConfig(vocab_size=61, d_model=24, encoder_layers=2, decoder_layers=1,
                          encoder_attention_heads=3, decoder_attention_heads=4,
                          encoder_ffn_dim=40, decoder_ffn_dim=32, max_position_embeddings=24,
                          scale_embedding=True, activation_function="relu", dropout=0.0,
                          decoder_start_token_id=60, pad_token_id=60, eos_token_id=0,
                          forced_eos_token_id=None, attn_implementation="eager")
    model = MarianMTModel(config).eval()
    spread(model, seed=7)
    with torch.no_grad():
        model.final_logits_bias.copy_(torch.randn(1, 61, generator=torch.Generator().manual_seed(9)))
    save("marian", model, golden_of_pair(model, start=60))


def make_t5():
    config = T5Config(vocab_size=61, d_model=24, d_kv=6, d_ff=40, num_layers=2, num_decoder_layers=1,
                      num_heads=3, relative_attention_num_buckets=8,
                      relative_attention_max_distance=10, dropout_rate=0.0,
                      feed_forward_proj="gated-gelu", attn_implementation="eager")
    model = T5ForConditionalGeneration(config).eval()
    spread(model, seed=7)
    tensors = golden_of_pair(model, start=0)
    for side, last in (("encoder", 2), ("decoder", 1)):  # here the last one is normed
        final = tensors.pop(f"{side}_hidden_states.{last}")
        tensors["encoder_last_hidden_state" if side == "encoder" else "last_hidden_state"] = final
    save("t5", model, tensors)


def golden_of_pair(model, start):
    """Of an encoder-decoder, whose decoder begins with `start`."""
    ids, mask = inputs_of(61, 11, 8)
    decoder_ids = inputs_of(60, 7, 7, seed=10)[0]
    decoder_ids[:, 0] = start
    labels = torch.roll(decoder_ids, -1, dims=1)
    with torch.no_grad():
        out = model(ids, attention_mask=mask, decoder_input_ids=decoder_ids, labels=labels,
                    output_attentions=True, output_hidden_states=True)
    tensors = {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": decoder_ids,
               "labels": labels, "logits": out.logits, "loss": out.loss.reshape(1),
               "encoder_last_hidden_state": out.encoder_last_hidden_state}
    for kind in ("encoder_hidden_states", "decoder_hidden_states", "encoder_attentions",
                 "decoder_attentions", "cross_attentions"):
        for index, value in enumerate(getattr(out, kind)):
            tensors[f"{kind}.{index}"] = value
    return {name: tensor.contiguous().clone() for name, tensor in tensors.items()}


def saved_tensors(model):
    """As files have them, where transformers puts the tensors of one layer together in memory."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return load_file(f"{folder}/model.safetensors")


class Variant:
    """A tiny model of one configuration: its file holds the configuration (metadata), the weights
    (`weight:` before their names), the inputs and the logits."""

    def __init__(self, kind, config, seed=3, more=None, left_out=(), renamed=None, as_saved=False, attention="eager",
                 positions=False, strays=()):
        self.kind, self.config, self.seed, self.as_saved, self.attention = kind, config, seed, as_saved, attention
        self.strays = strays  # tensors that the model ignores
        self.positions = positions  # other numbers than the sinusoids
        self.more, self.left_out, self.renamed = more or {}, left_out, renamed or (lambda name: name)

    def write(self, path):
        torch.manual_seed(self.seed)
        model = getattr(transformers, self.kind)(self.made_config()).eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if (self.positions or "embed_positions" not in name
                        or self.config["model_type"] not in ("marian", "pegasus")):
                    parameter.copy_((1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0)
                                    + 0.5 * torch.randn(parameter.shape))
            for name, buffer in model.named_buffers():
                if name.endswith("layer_scalar"):
                    buffer.copy_(1 + 0.5 * torch.randn(buffer.shape))
        tensors = self.inputs(model)
        with torch.no_grad():
            out = (model.base_model if self.kind.endswith("ForPreTraining") else model)(**tensors)
        tensors["logits" if hasattr(out, "logits") else "last_hidden_state"] = (
            out.logits if hasattr(out, "logits") else out.last_hidden_state)
        for name, value in (saved_tensors(model) if self.as_saved else model.state_dict()).items():
            if name not in self.left_out and "position_ids" not in name:
                tensors["weight:" + self.renamed(name)] = value
        tensors |= {"weight:" + name: torch.zeros(2, 3) for name in self.strays}
        save_file({name: value.contiguous().clone() for name, value in tensors.items()}, path,
                  {"config": json.dumps(self.json_of())})

    def json_of(self):
        return {**self.config, "architectures": [self.kind], **self.more}

    def made_config(self):
        kind = getattr(transformers, self.kind)
        config = kind.config_class(**{key: value for key, value in self.config.items() if key != "model_type"})
        config._attn_implementation = self.attention
        return config

    def inputs(self, model):
        ids = torch.tensor([[3, 5, 1, 7, 2, 5, 9]])
        if model.config.is_encoder_decoder and not self.kind.endswith("Classification"):
            return {"input_ids": ids, "decoder_input_ids": torch.tensor([[1, 4, 8, 4, 6]])}
        return {"input_ids": ids}


class PackedVariant(Variant):
    """gpt-oss as it is published: the experts' matrices are codes of 4 bits with a scale for 32 of them."""

    def write(self, path):
        super().write(path)
        file, header = load_file(path), self.json_of()
        generator = torch.Generator().manual_seed(5)
        model = getattr(transformers, self.kind)(self.made_config()).eval()
        weights = {name[7:]: value for name, value in file.items() if name.startswith("weight:")}
        for name in [name for name in weights if name.endswith("gate_up_proj") or name.endswith("experts.down_proj")]:
            experts, rows, columns = weights[name].shape
            codes = torch.randint(0, 256, (experts, columns, rows // 32, 16), generator=generator).to(torch.uint8)
            scales = torch.randint(122, 127, (experts, columns, rows // 32), generator=generator).to(torch.uint8)
            weights[name] = convert_moe_packed_tensors(codes, scales, dtype=torch.float32)
            del file["weight:" + name]
            file[f"weight:{name}_blocks"], file[f"weight:{name}_scales"] = codes, scales
        model.load_state_dict(weights, strict=False)
        with torch.no_grad():
            file["logits"] = model(file["input_ids"]).logits
        header["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": []}
        save_file({name: value.contiguous() for name, value in file.items()}, path, {"config": json.dumps(header)})


LLAMA = {"vocab_size": 11, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2,
         "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 16,
         "tie_word_embeddings": True, "rms_norm_eps": 1e-5}
QWEN3_5 = {"vocab_size": 61, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 4,
           "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64,
           "linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 6,
           "linear_value_head_dim": 5, "linear_conv_kernel_dim": 4,
           "layer_types": ["linear_attention", "full_attention", "linear_attention", "linear_attention"]}
QWEN3_5_SMALL = QWEN3_5 | {"vocab_size": 11, "hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2,
                           "num_key_value_heads": 1}
GPT2 = {"model_type": "gpt2", "vocab_size": 11, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 8,
        "bos_token_id": 0, "eos_token_id": 0}
BERT = {"vocab_size": 11, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1,
        "num_attention_heads": 2, "max_position_embeddings": 12, "pad_token_id": 0}
T5 = {"model_type": "t5", "vocab_size": 11, "d_model": 8, "d_kv": 4, "d_ff": 12, "num_layers": 1,
      "num_heads": 2, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 6,
      "decoder_start_token_id": 0}
PAIR = {"vocab_size": 11, "d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 12, "decoder_ffn_dim": 12,
        "max_position_embeddings": 12, "pad_token_id": 0, "decoder_start_token_id": 0}
GEMMA2 = {"model_type": "gemma2", **LLAMA, "head_dim": 4, "sliding_window": 3, "query_pre_attn_scalar": 4,
          "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0, "pad_token_id": 0}
GEMMA3_PICTURES = {
    "model_type": "gemma3", "mm_tokens_per_image": 1, "eos_token_id": [1, 3], "image_token_index": 10,
    "boi_token_index": 9, "eoi_token_index": 8,
    "text_config": {"model_type": "gemma3_text", **LLAMA, "head_dim": 6, "sliding_window": 3,
                    "query_pre_attn_scalar": 4, "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
    "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
                      "num_attention_heads": 2, "image_size": 4, "patch_size": 4}}
GEMMA4 = {"model_type": "gemma4_text", **LLAMA, "num_hidden_layers": 4, "num_attention_heads": 4,
          "num_key_value_heads": 2, "head_dim": 4, "global_head_dim": 16, "sliding_window": 3, "pad_token_id": 0,
          "layer_types": ["sliding_attention", "full_attention"] * 2, "hidden_size_per_layer_input": 6,
          "vocab_size_per_layer_input": 13}
NO_LAYER_WORDS = {"hidden_size_per_layer_input": 0}
GEMMA4_SHARED = {"num_kv_shared_layers": 2, "use_double_wide_mlp": True}
GEMMA4_TURNS = {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.6, "rope_theta": 50.0,
                                   "factor": 2.0},
                "sliding_attention": {"rope_type": "linear", "factor": 3.0, "rope_theta": 20.0}}
WIDE = {"vocab_size": 11, "hidden_size": 16, "intermediate_size": 12, "num_hidden_layers": 2,
        "num_attention_heads": 2, "max_position_embeddings": 16}  # heads wide enough to turn a part of
SHARED_KEYS = {"num_key_value_heads": 1}
FALCON = {"vocab_size": 11, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
          "max_position_embeddings": 16}
EXPERTS = {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 4}
MODERN = {"local_attention": 4, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1,
          "sep_token_id": 2}
BOTH_WAYS = {"is_causal": False}
ELECTRA = {"model_type": "electra", "embedding_size": 6} | BERT
SLIDES = {"use_sliding_window": True, "sliding_window": 2}
TYPES = ["full_attention", "sliding_attention"]
SHORT_AND_LONG = {"short_factor": [1.0, 1.5, 2.0, 2.5], "long_factor": [2.0, 3.0, 4.0, 5.0]}
YARN = {"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "original_max_position_embeddings": 4}

VARIANTS = {
    "gpt2-both-ways": Variant("GPT2LMHeadModel", GPT2 | BOTH_WAYS),
    "llama-both-ways": Variant("LlamaForCausalLM", {"model_type": "llama"} | LLAMA | BOTH_WAYS),
    "mistral-both-ways": Variant("MistralForCausalLM",
                                 {"model_type": "mistral"} | LLAMA | {"sliding_window": 2} | BOTH_WAYS),
    "qwen2-both-ways": Variant("Qwen2ForCausalLM", {"model_type": "qwen2"} | LLAMA | SLIDES
                               | {"max_window_layers": 1} | BOTH_WAYS),
    "qwen3-both-ways": Variant("Qwen3ForCausalLM", {"model_type": "qwen3"} | LLAMA | SLIDES
                               | {"head_dim": 4, "layer_types": TYPES} | BOTH_WAYS),
    "gemma2-both-ways": Variant("Gemma2ForCausalLM", GEMMA2 | BOTH_WAYS),
    "marian-both-ways": Variant("MarianMTModel", {"model_type": "marian"} | PAIR | BOTH_WAYS),
    "blenderbot-both-ways": Variant("BlenderbotForConditionalGeneration",
                                    {"model_type": "blenderbot"} | PAIR | BOTH_WAYS),
    "t5-both-ways": Variant("T5ForConditionalGeneration", T5 | BOTH_WAYS),
    "t5-gelu": Variant("T5ForConditionalGeneration", T5 | {"feed_forward_proj": "gelu"}),
    "t5-gated-relu": Variant("T5ForConditionalGeneration", T5 | {"feed_forward_proj": "gated-relu"}),
    "t5-own-activation": Variant("T5ForConditionalGeneration",
                                 T5 | {"feed_forward_proj": "relu", "dense_act_fn": "silu"}),
    "t5-encoder": Variant("T5EncoderModel", T5),
    "mt5": Variant("MT5ForConditionalGeneration", T5 | {"model_type": "mt5", "tie_word_embeddings": False}),
    "distilbert-epsilon": Variant("DistilBertForMaskedLM", {
        "model_type": "distilbert", "vocab_size": 11, "dim": 8, "hidden_dim": 12, "n_layers": 1, "n_heads": 2,
        "max_position_embeddings": 12, "layer_norm_eps": 0.5}),
    "camembert": Variant("CamembertForMaskedLM", {"model_type": "camembert"} | BERT
                         | {"type_vocab_size": 1, "pad_token_id": 1}),
    "xlm-roberta": Variant("XLMRobertaForMaskedLM", {"model_type": "xlm-roberta"} | BERT
                           | {"type_vocab_size": 1, "pad_token_id": 1}),
    "bert-untied": Variant("BertForMaskedLM", {"model_type": "bert"} | BERT | {"tie_word_embeddings": False}),
    "roberta-untied": Variant("RobertaForMaskedLM", {"model_type": "roberta"} | BERT
                              | {"type_vocab_size": 1, "tie_word_embeddings": False}),
    "distilbert-untied": Variant("DistilBertForMaskedLM", {
        "model_type": "distilbert", "vocab_size": 11, "dim": 8, "hidden_dim": 12, "n_layers": 1, "n_heads": 2,
        "max_position_embeddings": 12, "tie_word_embeddings": False}),
    "gemma2-untied": Variant("Gemma2ForCausalLM", GEMMA2 | {"tie_word_embeddings": False,
                                                            "hidden_activation": "gelu", "hidden_act": "relu"}),
    "mistral-layer-types": Variant("MistralForCausalLM", {"model_type": "mistral"} | LLAMA
                                   | {"sliding_window": 3, "layer_types": TYPES}),
    "llama-layer-types": Variant("LlamaForCausalLM", {"model_type": "llama"} | LLAMA
                                 | {"sliding_window": 3, "layer_types": TYPES}),
    "ministral": Variant("MinistralForCausalLM", {"model_type": "ministral"} | LLAMA
                         | {"head_dim": 4, "sliding_window": 3, "layer_types": TYPES}),
    "mistral-biases": Variant("MistralForCausalLM", {"model_type": "mistral"} | LLAMA
                              | {"attention_bias": True, "mlp_bias": True}),
    "yarn-without-mscale": Variant("LlamaForCausalLM", {"model_type": "llama"} | LLAMA
                                   | {"rope_parameters": YARN | {"mscale": 1.0, "mscale_all_dim": 0}}),
    "gpt2-relu": Variant("GPT2LMHeadModel", GPT2 | {"activation_function": "relu"}),
    "gpt2-silu": Variant("GPT2LMHeadModel", GPT2 | {"activation_function": "silu"}),
    "gpt2-quick-gelu": Variant("GPT2LMHeadModel", GPT2 | {"activation_function": "quick_gelu"}),
    "llama-quick-gelu": Variant("LlamaForCausalLM", {"model_type": "llama"} | LLAMA
                                | {"hidden_act": "quick_gelu"}),
    # One without a kernel.
    "bert-mish": Variant("BertForMaskedLM", {"model_type": "bert"} | BERT | {"hidden_act": "mish"}),
    # Values in the forms that other programs write.
    "llama-loose-numbers": Variant("LlamaForCausalLM", {"model_type": "llama"} | LLAMA, more={
        "hidden_size": 8.0, "num_hidden_layers": 2.0, "eos_token_id": 2.0, "bos_token_id": [1]}),
    "t5-null-scale": Variant("T5ForConditionalGeneration", T5 | {"scale_decoder_outputs": None}),
    "mt5-null-gate": Variant("MT5ForConditionalGeneration", T5 | {
        "model_type": "mt5", "feed_forward_proj": "relu", "is_gated_act": None, "dense_act_fn": "relu"}),
    "roberta-negative-pad": Variant("RobertaForMaskedLM", {"model_type": "roberta"} | BERT
                                    | {"type_vocab_size": 1, "pad_token_id": -1}),
    # Decoders of which a part stands elsewhere, is fused or absent.
    "gpt-neox": Variant("GPTNeoXForCausalLM", {"model_type": "gpt_neox"} | WIDE,
                        renamed=lambda name: name.replace("lm_head.", "embed_out.")),
    "gpt-neox-in-sequence": Variant("GPTNeoXForCausalLM", {"model_type": "gpt_neox"} | WIDE | {
        "use_parallel_residual": False, "attention_bias": False, "tie_word_embeddings": True,
        "rotary_pct": 0.5, "rotary_emb_base": 100}),
    "gpt-neox-linear": Variant("GPTNeoXForCausalLM", {"model_type": "gpt_neox"} | WIDE | {
        "rope_parameters": {"rope_type": "linear", "factor": 2.0, "partial_rotary_factor": 0.5}}),
    "gptj": Variant("GPTJForCausalLM", {"model_type": "gptj", "vocab_size": 11, "n_embd": 16, "n_layer": 2,
                                        "n_head": 2, "n_inner": 12, "n_positions": 16, "rotary_dim": 4,
                                        "bos_token_id": 0, "eos_token_id": 0}),
    "gpt2-other-names": Variant("GPT2LMHeadModel", {
        "model_type": "gpt2", "vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
        "max_position_embeddings": 8, "bos_token_id": 0, "eos_token_id": 0}),
    "gpt-neo-types": Variant("GPTNeoForCausalLM", {
        "model_type": "gpt_neo", "vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2,
        "max_position_embeddings": 16, "window_size": 3, "is_causal": False,
        "attention_types": [[["local"], 1], [["global", "local"], 1]]}),
    "gpt-neo": Variant("GPTNeoForCausalLM", {
        "model_type": "gpt_neo", "vocab_size": 11, "hidden_size": 8, "num_layers": 2, "num_heads": 2,
        "attention_types": [[["global", "local"], 1]], "window_size": 3, "max_position_embeddings": 16,
        "bos_token_id": 0, "eos_token_id": 0}, more={"attention_layers": ["global", "local"]}),
    "opt": Variant("OPTForCausalLM", {"model_type": "opt", "vocab_size": 11, "hidden_size": 8, "ffn_dim": 12,
                                      "num_hidden_layers": 2, "num_attention_heads": 2,
                                      "max_position_embeddings": 12, "word_embed_proj_dim": 8}),
    "opt-bare-norms": Variant("OPTForCausalLM", {
        "model_type": "opt", "vocab_size": 11, "hidden_size": 8, "ffn_dim": 12, "num_hidden_layers": 2,
        "num_attention_heads": 2, "max_position_embeddings": 12, "enable_bias": False,
        "layer_norm_elementwise_affine": False, "_remove_final_layer_norm": True}),
    "opt-350m": Variant("OPTForCausalLM", {
        "model_type": "opt", "vocab_size": 11, "hidden_size": 8, "ffn_dim": 12, "num_hidden_layers": 2,
        "num_attention_heads": 2, "max_position_embeddings": 12, "word_embed_proj_dim": 6,
        "do_layer_norm_before": False}),
    "phi": Variant("PhiForCausalLM", {"model_type": "phi"} | WIDE),
    "phi-head-norms": Variant("PhiForCausalLM", {"model_type": "phi"} | WIDE | SHARED_KEYS
                              | {"qk_layernorm": True, "partial_rotary_factor": 0.25}),
    "phi3": Variant("Phi3ForCausalLM", {"model_type": "phi3", "pad_token_id": 0} | WIDE | SHARED_KEYS
                    | {"sliding_window": 3}),
    "phi3-su": Variant("Phi3ForCausalLM", {"model_type": "phi3", "pad_token_id": 0} | WIDE | {
        "original_max_position_embeddings": 4, "rope_scaling": {"type": "longrope"} | SHORT_AND_LONG},
        more={"rope_scaling": {"type": "su"} | SHORT_AND_LONG}),
    "phi3-longrope": Variant("Phi3ForCausalLM", {"model_type": "phi3", "pad_token_id": 0} | WIDE | {
        "original_max_position_embeddings": 8, "partial_rotary_factor": 0.5,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.5], "long_factor": [2.0, 3.0]}}),
    "gemma": Variant("GemmaForCausalLM", {"model_type": "gemma"} | LLAMA | {"head_dim": 6, "hidden_act": "gelu"}),
    "gemma3": Variant("Gemma3ForCausalLM", {
        "model_type": "gemma3_text", **LLAMA, "head_dim": 6, "sliding_window": 3, "query_pre_attn_scalar": 4,
        "layer_types": ["sliding_attention", "full_attention"], "final_logit_softcapping": 3.0,
        "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1000.0},
                            "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}}}),
    "gemma3-dynamic": Variant("Gemma3ForCausalLM", {
        "model_type": "gemma3_text", **LLAMA, "head_dim": 6, "sliding_window": 3, "query_pre_attn_scalar": 4,
        "layer_types": ["sliding_attention", "full_attention"], "max_position_embeddings": 4, "rope_parameters": {
            "full_attention": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1000.0},
            "sliding_attention": {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 50.0}}}),
    "gemma3-older": Variant("Gemma3ForCausalLM", {
        "model_type": "gemma3_text", **LLAMA, "head_dim": 6, "sliding_window": 3, "query_pre_attn_scalar": 4,
        "layer_types": ["sliding_attention", "full_attention"], "rope_theta": 1000.0,
        "rope_local_base_freq": 50.0, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}),
    # A cap that transformers reads and does not apply.
    "gemma3-score-cap": Variant("Gemma3ForCausalLM", {
        "model_type": "gemma3_text", **LLAMA, "head_dim": 6, "sliding_window": 3, "query_pre_attn_scalar": 4,
        "layer_types": ["sliding_attention", "full_attention"], "attn_logit_softcapping": 1.5}),
    "gemma3-both-ways": Variant("Gemma3TextModel", {
        "model_type": "gemma3_text", **LLAMA, "head_dim": 6, "sliding_window": 4, "query_pre_attn_scalar": 4,
        "layer_types": TYPES, "use_bidirectional_attention": True, "pad_token_id": 0}),
    "gemma3-with-pictures": Variant("Gemma3ForConditionalGeneration", GEMMA3_PICTURES),
    "gemma3-with-pictures-older": Variant(
        "Gemma3ForConditionalGeneration", GEMMA3_PICTURES,
        renamed=lambda name: name.replace("model.language_model.", "language_model.model.").replace(
            "model.vision_tower.", "vision_tower.").replace("model.multi_modal", "multi_modal")),
    "gemma3-pattern": Variant("Gemma3ForCausalLM", {
        "model_type": "gemma3_text", **LLAMA, "head_dim": 6, "sliding_window": 3, "query_pre_attn_scalar": 4,
        "sliding_window_pattern": 2}),
    # Layers of a gated delta rule.
    "qwen3-5": Variant("Qwen3_5ForCausalLM", {"model_type": "qwen3_5_text"} | QWEN3_5_SMALL, seed=4),
    "qwen3-5-interval": Variant("Qwen3_5ForCausalLM", {
        "model_type": "qwen3_5_text", **QWEN3_5_SMALL, "layer_types": None, "full_attention_interval": 2,
        "attention_bias": True, "tie_word_embeddings": True, "linear_conv_kernel_dim": 2, "hidden_act": "relu",
        "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0,
                            "partial_rotary_factor": 0.5, "mrope_section": [1, 1, 0], "mrope_interleaved": True}}),
    "qwen3-5-with-pictures": Variant("Qwen3_5ForConditionalGeneration", {
        "model_type": "qwen3_5", "tie_word_embeddings": True, "image_token_id": 10, "video_token_id": 9,
        "vision_start_token_id": 8, "vision_end_token_id": 7,
        "text_config": {"model_type": "qwen3_5_text", **QWEN3_5_SMALL, "rope_theta": 50.0},
        "vision_config": {"model_type": "qwen3_5_vision", "depth": 1, "hidden_size": 8, "intermediate_size": 8,
                          "num_heads": 2, "patch_size": 2, "out_hidden_size": 8, "num_position_embeddings": 4}}),
    "gemma4": Variant("Gemma4ForCausalLM", GEMMA4 | GEMMA4_SHARED | {"final_logit_softcapping": 3.0}),
    "gemma4-plain": Variant("Gemma4ForCausalLM", GEMMA4 | NO_LAYER_WORDS | {
        "tie_word_embeddings": False, "use_double_wide_mlp": True, "rope_parameters": GEMMA4_TURNS}),
    "gemma4-keys-are-values": Variant("Gemma4ForCausalLM", GEMMA4 | {
        "attention_k_eq_v": True, "num_global_key_value_heads": 1, "attention_bias": True}),
    "gemma4-keys-are-values-shared": Variant("Gemma4ForCausalLM", GEMMA4 | {
        "attention_k_eq_v": True, "num_global_key_value_heads": 4, "num_kv_shared_layers": 2}),
    # As transformers writes it, and with types that it changes: the last layer has no window.
    "gemma4-by-layer": Variant("Gemma4ForCausalLM", {
        key: value for key, value in (GEMMA4 | GEMMA4_SHARED).items() if key != "global_head_dim"} | {
        "layer_types": ["full_attention", "sliding_attention"] * 2, "num_kv_shared_layers": 1,
        "per_layer_config": {layer: {"head_dim": 6} for layer in "023"}}, strays=(
            "model.layers.3.self_attn.k_proj.weight", "model.layers.3.self_attn.v_proj.weight",
            "model.layers.3.self_attn.k_norm.weight")),
    "gemma4-types": Variant("Gemma4ForCausalLM", {
        key: value for key, value in GEMMA4.items() if key != "layer_types"} | {
        "num_hidden_layers": 7, "num_kv_shared_layers": 0, "use_bidirectional_attention": "vision"}),
    "gemma4-dynamic": Variant("Gemma4ForCausalLM", GEMMA4 | GEMMA4_SHARED | {
        "max_position_embeddings": 4, "rope_parameters": {
            "full_attention": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}}}),
    "gemma4-with-pictures": Variant("Gemma4ForConditionalGeneration", {
        "model_type": "gemma4", "eos_token_id": [1, 3], "text_config": GEMMA4 | GEMMA4_SHARED, "audio_config": None,
        "boi_token_id": 9, "eoi_token_id": 8, "image_token_id": 10, "video_token_id": 12, "audio_token_id": 12,
        "vision_config": {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
                          "num_key_value_heads": 2, "head_dim": 4, "patch_size": 2, "position_embedding_size": 4}}),
    "gemma4-unified": Variant("Gemma4UnifiedForCausalLM", {
        key: value for key, value in (GEMMA4 | GEMMA4_SHARED).items() if "per_layer_input" not in key} | {
        "model_type": "gemma4_unified_text", "attention_k_eq_v": True}),
    "gemma4-unified-with-pictures": Variant("Gemma4UnifiedForConditionalGeneration", {
        "model_type": "gemma4_unified", "eos_token_id": 1, "audio_config": None, "vision_config": None, "text_config": {
            key: value for key, value in GEMMA4.items() if "per_layer_input" not in key} | {
            "model_type": "gemma4_unified_text"}}),
    "cohere2-pattern": Variant("Cohere2ForCausalLM", {"model_type": "cohere2"} | LLAMA | {
        "sliding_window_pattern": 2, "sliding_window": 3}),
    "smollm3-windows": Variant("SmolLM3ForCausalLM", {"model_type": "smollm3", "pad_token_id": 0} | LLAMA | {
        "no_rope_layers": [1, 0], "use_sliding_window": True, "sliding_window": 3}),
    "smollm3-layer-types": Variant("SmolLM3ForCausalLM", {"model_type": "smollm3", "pad_token_id": 0} | LLAMA | {
        "sliding_window": 3, "layer_types": TYPES}),
    # Keys beside rope_parameters that this family does not have, and both spellings.
    "gpt-neox-strays": Variant("GPTNeoXForCausalLM", {"model_type": "gpt_neox"} | WIDE, more={
        "rope_theta": 77, "partial_rotary_factor": 0.5, "num_key_value_heads": 1, "head_dim": 16},
        renamed=lambda name: name.replace("lm_head.", "embed_out.")),
    "gpt-neox-two-spellings": Variant("GPTNeoXForCausalLM", {"model_type": "gpt_neox"} | WIDE | {
        "rotary_pct": 0.5, "rotary_emb_base": 1000}, more={"rope_theta": 50, "partial_rotary_factor": 1.0}),
    "olmo": Variant("OlmoForCausalLM", {"model_type": "olmo"} | LLAMA),
    "olmo-clipped": Variant("OlmoForCausalLM", {"model_type": "olmo"} | LLAMA | {"clip_qkv": 0.8}),
    "olmo2": Variant("Olmo2ForCausalLM", {"model_type": "olmo2"} | LLAMA),
    "olmo3": Variant("Olmo3ForCausalLM", {"model_type": "olmo3"} | LLAMA | {
        "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 3, "rope_theta": 100.0,
        "rope_scaling": {"rope_type": "linear", "factor": 2.0}}),
    # transformers does not read `truncate` here.
    "olmo3-yarn": Variant("Olmo3ForCausalLM", {"model_type": "olmo3"} | LLAMA | {
        "layer_types": TYPES, "sliding_window": 3, "num_attention_heads": 1, "rope_parameters": {
            "full_attention": YARN | {"truncate": False, "beta_fast": 2}}}),
    "cohere": Variant("CohereForCausalLM", {"model_type": "cohere"} | LLAMA),
    "cohere-head-norms": Variant("CohereForCausalLM", {"model_type": "cohere"} | LLAMA | {
        "num_attention_heads": 4, "num_key_value_heads": 2, "use_qk_norm": True}),
    "cohere2": Variant("Cohere2ForCausalLM", {"model_type": "cohere2"} | LLAMA | {
        "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 3}),
    "stablelm": Variant("StableLmForCausalLM", {"model_type": "stablelm"} | WIDE | SHARED_KEYS
                        | {"use_qkv_bias": True}),
    "stablelm-parallel": Variant("StableLmForCausalLM", {"model_type": "stablelm"} | WIDE | SHARED_KEYS
                                 | {"use_parallel_residual": True, "partial_rotary_factor": 0.5}),
    "stablelm-head-norms": Variant("StableLmForCausalLM", {"model_type": "stablelm"} | WIDE | SHARED_KEYS
                                   | {"qk_layernorm": True}),
    "starcoder2": Variant("Starcoder2ForCausalLM", {"model_type": "starcoder2"} | LLAMA | {"sliding_window": 3}),
    "smollm3": Variant("SmolLM3ForCausalLM", {"model_type": "smollm3", "pad_token_id": 0} | LLAMA
                       | {"no_rope_layers": [1, 0]}),
    "glm": Variant("GlmForCausalLM", {"model_type": "glm", "pad_token_id": 0} | WIDE | SHARED_KEYS
                   | {"head_dim": 8}),
    "glm4": Variant("Glm4ForCausalLM", {"model_type": "glm4", "pad_token_id": 0} | WIDE | SHARED_KEYS
                    | {"head_dim": 8}),
    "granite": Variant("GraniteForCausalLM", {"model_type": "granite"} | LLAMA | {
        "embedding_multiplier": 3.0, "residual_multiplier": 0.4, "attention_multiplier": 0.3,
        "logits_scaling": 2.5, "attention_bias": True}),
    "nemotron": Variant("NemotronForCausalLM", {"model_type": "nemotron"} | WIDE | SHARED_KEYS
                        | {"head_dim": 8, "mlp_bias": True}),
    "helium": Variant("HeliumForCausalLM", {"model_type": "helium", "pad_token_id": 0} | WIDE | SHARED_KEYS
                      | {"head_dim": 8, "attention_bias": True}),
    "bloom": Variant("BloomForCausalLM", {"model_type": "bloom", "vocab_size": 11, "hidden_size": 12, "n_layer": 2,
                                          "n_head": 3}),
    "bloom-older": Variant("BloomForCausalLM", {"model_type": "bloom", "vocab_size": 11, "n_embed": 8, "n_layer": 1,
                                                "num_attention_heads": 2}),
    "falcon": Variant("FalconForCausalLM", {"model_type": "falcon"} | FALCON | {"num_kv_heads": 4}),
    "falcon-new": Variant("FalconForCausalLM", {"model_type": "falcon"} | FALCON | {
        "new_decoder_architecture": True, "num_kv_heads": 2}),
    "falcon-new-one-norm": Variant("FalconForCausalLM", {"model_type": "falcon"} | FALCON | {
        "new_decoder_architecture": True, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1}),
    "falcon-in-sequence": Variant("FalconForCausalLM", {"model_type": "falcon"} | FALCON | {
        "multi_query": False, "parallel_attn": False, "bias": True, "ffn_hidden_size": 20,
        "tie_word_embeddings": False}),
    "falcon-alibi": Variant("FalconForCausalLM", {"model_type": "falcon"} | FALCON | {
        "multi_query": False, "parallel_attn": False, "bias": True, "alibi": True},
        attention="sdpa"),  # eager adds ALiBi twice
    # Experts.
    "mixtral": Variant("MixtralForCausalLM", {"model_type": "mixtral"} | LLAMA | {
        "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 3}, as_saved=True),
    "qwen2-moe": Variant("Qwen2MoeForCausalLM", {"model_type": "qwen2_moe"} | LLAMA | EXPERTS | {
        "shared_expert_intermediate_size": 6, "mlp_only_layers": [1]}, as_saved=True),
    "qwen2-moe-windows": Variant("Qwen2MoeForCausalLM", {"model_type": "qwen2_moe"} | LLAMA | EXPERTS | {
        "shared_expert_intermediate_size": 6, "norm_topk_prob": True, "qkv_bias": False, "use_sliding_window": True,
        "sliding_window": 3}, as_saved=True),
    "qwen3-moe": Variant("Qwen3MoeForCausalLM", {"model_type": "qwen3_moe"} | LLAMA | EXPERTS | {
        "head_dim": 6, "norm_topk_prob": True, "decoder_sparse_step": 2}, as_saved=True),
    "qwen3-moe-windows": Variant("Qwen3MoeForCausalLM", {"model_type": "qwen3_moe"} | LLAMA | EXPERTS | {
        "attention_bias": True, "use_sliding_window": True, "sliding_window": 3}, as_saved=True),
    "olmoe": Variant("OlmoeForCausalLM", {"model_type": "olmoe"} | LLAMA | EXPERTS | {"pad_token_id": 0},
                     as_saved=True),
    "olmoe-clipped": Variant("OlmoeForCausalLM", {"model_type": "olmoe"} | LLAMA | EXPERTS | {
        "pad_token_id": 0, "clip_qkv": 0.9, "norm_topk_prob": True}, as_saved=True),
    "gpt-oss": Variant("GptOssForCausalLM", {"model_type": "gpt_oss"} | LLAMA | {
        "head_dim": 4, "num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": 3, "swiglu_limit": 1.0},
        as_saved=True),
    "gpt-oss-mxfp4": PackedVariant("GptOssForCausalLM", {"model_type": "gpt_oss"} | LLAMA | {
        "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "head_dim": 4, "num_local_experts": 3,
        "num_experts_per_tok": 2}, as_saved=True),
    "gpt-oss-linear": Variant("GptOssForCausalLM", {"model_type": "gpt_oss"} | LLAMA | {
        "head_dim": 4, "num_local_experts": 4, "num_experts_per_tok": 3, "layer_types": TYPES, "sliding_window": 3,
        "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 50.0}, "attention_bias": False},
        as_saved=True),
    # Encoder-decoders by where norms and positions stand.
    "bart": Variant("BartForConditionalGeneration", {"model_type": "bart"} | PAIR),
    "bart-bare": Variant("BartModel", {"model_type": "bart"} | PAIR),
    "bart-untied": Variant("BartForConditionalGeneration", {"model_type": "bart"} | PAIR
                           | {"tie_word_embeddings": False}, left_out=("model.shared.weight",)),
    "mbart": Variant("MBartForConditionalGeneration", {"model_type": "mbart"} | PAIR | {
        "scale_embedding": True, "activation_function": "relu"}),
    # Padding within a text is not counted.
    "m2m-100": Variant("M2M100ForConditionalGeneration", {"model_type": "m2m_100"} | PAIR | {"pad_token_id": 1}),
    "marian-own-positions": Variant("MarianMTModel", {"model_type": "marian"} | PAIR, positions=True),
    "pegasus": Variant("PegasusForConditionalGeneration", {"model_type": "pegasus"} | PAIR
                       | {"scale_embedding": True}),
    "umt5": Variant("UMT5ForConditionalGeneration", T5 | {"model_type": "umt5", "num_layers": 2}),
    "umt5-encoder": Variant("UMT5EncoderModel", T5 | {"model_type": "umt5", "num_layers": 2}),
    # Encoders of which a part is narrower, shared, or another.
    "electra": Variant("ElectraForMaskedLM", ELECTRA | {"hidden_act": "relu"}),
    "electra-bare": Variant("ElectraModel", ELECTRA | {"embedding_size": 8}),
    "electra-discriminator": Variant("ElectraForPreTraining", ELECTRA),
    "albert": Variant("AlbertForMaskedLM", {"model_type": "albert"} | BERT | {
        "embedding_size": 6, "num_hidden_layers": 4, "num_hidden_groups": 2, "inner_group_num": 2}),
    "albert-uneven": Variant("AlbertForPreTraining", {"model_type": "albert"} | BERT | {
        "embedding_size": 8, "num_hidden_layers": 5, "num_hidden_groups": 2}),
    "mpnet": Variant("MPNetForMaskedLM", {"model_type": "mpnet"} | BERT | {"num_hidden_layers": 2, "pad_token_id": 1}),
    "modernbert": Variant("ModernBertForMaskedLM", {"model_type": "modernbert"} | WIDE | MODERN | {
        "num_hidden_layers": 4, "global_attn_every_n_layers": 2, "global_rope_theta": 300.0,
        "local_rope_theta": 20.0}),
    "modernbert-scaled": Variant("ModernBertForMaskedLM", {"model_type": "modernbert"} | WIDE | MODERN | {
        "global_rope_theta": 300.0, "local_rope_theta": 20.0, "layer_types": TYPES,
        "rope_scaling": {"rope_type": "linear", "factor": 2.0}}),
    "modernbert-biases": Variant("ModernBertForMaskedLM", {"model_type": "modernbert"} | WIDE | MODERN | {
        "norm_bias": True, "attention_bias": True, "mlp_bias": True, "classifier_bias": True, "decoder_bias": False,
        "hidden_activation": "silu", "classifier_activation": "relu", "tie_word_embeddings": False,
        "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0},
                            "sliding_attention": {"rope_type": "default", "rope_theta": 30.0}}}),
    "nomic-bert": Variant("NomicBertForMaskedLM", {"model_type": "nomic_bert"} | WIDE, as_saved=True),
    # Derived buffers and heads for other tasks.
    "gpt2-double-heads": Variant("GPT2DoubleHeadsModel", GPT2),
    # Labels of texts and of their tokens.
    "classes-t5": Variant("T5ForSequenceClassification", T5),
    "classes-t5-tokens": Variant("T5ForTokenClassification", T5),
    "classes-mt5": Variant("MT5ForSequenceClassification", T5 | {"model_type": "mt5"}),
    "classes-umt5": Variant("UMT5ForSequenceClassification", T5 | {"model_type": "umt5"}),
    "classes-bart": Variant("BartForSequenceClassification", {"model_type": "bart"} | PAIR),
    "classes-electra": Variant("ElectraForSequenceClassification", ELECTRA),
    "classes-electra-tokens": Variant("ElectraForTokenClassification", ELECTRA),
    "classes-albert": Variant("AlbertForSequenceClassification", {"model_type": "albert"} | BERT
                              | {"embedding_size": 6}),
    "classes-mpnet": Variant("MPNetForSequenceClassification", {"model_type": "mpnet"} | BERT | {"pad_token_id": 1}),
    "classes-bert": Variant("BertForSequenceClassification", {"model_type": "bert"} | BERT),
    "classes-roberta": Variant("RobertaForSequenceClassification", {"model_type": "roberta"} | BERT
                               | {"type_vocab_size": 1}),
    "classes-gpt-neox": Variant("GPTNeoXForSequenceClassification", {"model_type": "gpt_neox"} | WIDE
                                | {"pad_token_id": 0}),
    "classes-bloom-tokens": Variant("BloomForTokenClassification", {
        "model_type": "bloom", "vocab_size": 11, "hidden_size": 12, "n_layer": 1, "n_head": 3}),
    "classes-gemma3": Variant("Gemma3TextForSequenceClassification", {
        "model_type": "gemma3_text", **LLAMA, "head_dim": 6, "sliding_window": 3, "pad_token_id": 0}),
    "classes-falcon": Variant("FalconForSequenceClassification", {"model_type": "falcon"} | FALCON
                              | {"pad_token_id": 0}),
    "classes-phi3-tokens": Variant("Phi3ForTokenClassification", {"model_type": "phi3", "pad_token_id": 0} | WIDE),
    "classes-llama": Variant("LlamaForSequenceClassification",
                             {"model_type": "llama"} | LLAMA | {"pad_token_id": 0}),
}


def make_variants():
    folder = ROOT / "variants"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, variant in VARIANTS.items():
        variant.write(folder / f"{name}.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for make in (make_gpt2, make_llama, make_qwen3_5, make_bert, make_marian, make_t5):
        make()
    make_variants()
