# ruff: noqa: E501
"""Models of transformers, made tiny from their configs, and what is given to each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
import transformers

WORDS = 99
SMALL = {
    "vocab_size": WORDS, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
GROUPED = SMALL | {"num_key_value_heads": 2}
WINDOW = {"sliding_window": 4}
MIXED = {"layer_types": ["sliding_attention", "full_attention"]} | WINDOW
PAIR = {
    "vocab_size": WORDS, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2, "decoder_start_token_id": 1, "forced_eos_token_id": None,
}  # fmt: skip
T5 = {
    "vocab_size": WORDS, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4,
    "decoder_start_token_id": 0,
}  # fmt: skip
PICTURE = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "image_size": 16, "patch_size": 4,
}  # fmt: skip
SPEECH = SMALL | {
    "conv_dim": (16, 16), "conv_stride": (4, 2), "conv_kernel": (8, 3), "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2,
    "apply_spec_augment": False, "layerdrop": 0.0,
}  # fmt: skip
TOWERS = {
    "text_config": {k: v for k, v in SMALL.items() if k != "pad_token_id"} | {"projection_dim": 16},
    "vision_config": PICTURE | {"projection_dim": 16},
}


@dataclass(frozen=True)
class Architecture:
    model: str
    config: dict[str, Any] = field(default_factory=dict)
    takes: str = "text"

    @property
    def is_decoder(self) -> bool:
        return self.model.endswith(("ForCausalLM", "LMHeadModel"))

    def made(self, implementation: str = "eager") -> Any:
        kind = getattr(transformers, self.model)
        config = kind.config_class(**self.config)
        torch.manual_seed(3)
        model = kind._from_config(config, attn_implementation=implementation).eval()
        with torch.no_grad():  # larger than as initialised, so that weights are not all alike
            for parameter in model.parameters():
                if parameter.dim() > 1 and parameter.std() < 0.05:
                    parameter.mul_(4)
        return model

    def inputs(self, batch: int = 2, length: int = 11) -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(4)
        ids = torch.randint(3, WORDS, (batch, length), generator=generator)
        picture = torch.randn(batch, 3, 16, 16, generator=generator)
        if self.takes == "text":
            return {"input_ids": ids}
        if self.takes == "pair":
            return {"input_ids": ids, "decoder_input_ids": ids[:, 4:].flip(1)}
        if self.takes == "picture":
            return {"pixel_values": picture}
        if self.takes == "speech":
            return {"input_values": torch.randn(batch, 200, generator=generator)}
        if self.takes == "spectrum":
            spectrum = torch.randn(batch, 8, 32, generator=generator)
            return {"input_features": spectrum, "decoder_input_ids": ids}
        return {"input_ids": ids, "pixel_values": picture}


A = Architecture
DECODERS = {
    "gpt2": A("GPT2LMHeadModel", {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": WORDS, "bos_token_id": 1, "eos_token_id": 2}),
    "gpt_neox": A("GPTNeoXForCausalLM", SMALL),
    "opt": A("OPTForCausalLM", SMALL | {"ffn_dim": 48, "word_embed_proj_dim": 32}),
    "llama": A("LlamaForCausalLM", GROUPED),
    "mistral": A("MistralForCausalLM", GROUPED | WINDOW),
    "mixtral": A("MixtralForCausalLM", GROUPED | {"num_local_experts": 2}),
    "qwen2": A("Qwen2ForCausalLM", GROUPED),
    "qwen3": A("Qwen3ForCausalLM", GROUPED | {"head_dim": 8}),
    "gemma": A("GemmaForCausalLM", GROUPED | {"head_dim": 8}),
    "gemma2": A("Gemma2ForCausalLM", GROUPED | MIXED | {"head_dim": 8, "attn_logit_softcapping": 2.0}),
    "gemma3": A("Gemma3ForCausalLM", GROUPED | MIXED | {"head_dim": 8}),
    "gpt_oss": A("GptOssForCausalLM", GROUPED | MIXED | {"head_dim": 8, "num_local_experts": 2, "num_experts_per_tok": 1}),
    "phi": A("PhiForCausalLM", SMALL),
    "phi3": A("Phi3ForCausalLM", GROUPED),
    "olmo2": A("Olmo2ForCausalLM", GROUPED),
    "cohere": A("CohereForCausalLM", GROUPED),
    "cohere2": A("Cohere2ForCausalLM", GROUPED | MIXED),
    "starcoder2": A("Starcoder2ForCausalLM", GROUPED | WINDOW),
    "stablelm": A("StableLmForCausalLM", GROUPED),
    "granite": A("GraniteForCausalLM", GROUPED),
    "smollm3": A("SmolLM3ForCausalLM", GROUPED),
    "biogpt": A("BioGptForCausalLM", SMALL),
    "llama4": A("Llama4ForCausalLM", GROUPED | {"head_dim": 8, "intermediate_size_mlp": 48, "attention_chunk_size": 4, "layer_types": ["chunked_attention", "full_attention"], "num_local_experts": 1, "interleave_moe_layer_step": 5}),
    "deepseek_v3": A("DeepseekV3ForCausalLM", SMALL | {"num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 6, "n_routed_experts": 4, "n_group": 1, "topk_group": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "first_k_dense_replace": 2}),
}  # fmt: skip
ENCODERS = {
    "bert": A("BertForMaskedLM", SMALL),
    "roberta": A("RobertaForMaskedLM", SMALL),
    "xlm_roberta": A("XLMRobertaForMaskedLM", SMALL),
    "camembert": A("CamembertForMaskedLM", SMALL),
    "electra": A("ElectraForMaskedLM", SMALL | {"embedding_size": 16}),
    "distilbert": A("DistilBertForMaskedLM", {"vocab_size": WORDS, "dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 64}),
    "albert": A("AlbertForMaskedLM", SMALL | {"embedding_size": 16}),
    "modernbert": A("ModernBertForMaskedLM", SMALL | {"num_hidden_layers": 4, "local_attention": 4, "cls_token_id": 1, "sep_token_id": 2}),
}  # fmt: skip
PAIRS = {
    "bart": A("BartForConditionalGeneration", PAIR, "pair"),
    "mbart": A("MBartForConditionalGeneration", PAIR, "pair"),
    "marian": A("MarianMTModel", PAIR, "pair"),
    "pegasus": A("PegasusForConditionalGeneration", PAIR, "pair"),
    "blenderbot": A("BlenderbotForConditionalGeneration", PAIR, "pair"),
    "m2m_100": A("M2M100ForConditionalGeneration", PAIR, "pair"),
    "t5": A("T5ForConditionalGeneration", T5, "pair"),
    "mt5": A("MT5ForConditionalGeneration", T5, "pair"),
    "whisper": A("WhisperForConditionalGeneration", PAIR | {"num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 32, "begin_suppress_tokens": None}, "spectrum"),
}  # fmt: skip
OTHERS = {
    "vit": A("ViTForImageClassification", PICTURE, "picture"),
    "deit": A("DeiTForImageClassification", PICTURE, "picture"),
    "dinov2": A("Dinov2Model", PICTURE, "picture"),
    "siglip_vision": A("SiglipVisionModel", PICTURE | {"vision_use_head": False}, "picture"),
    "clip": A("CLIPModel", TOWERS | {"projection_dim": 16}, "both"),
    "wav2vec2": A("Wav2Vec2Model", SPEECH, "speech"),
    "hubert": A("HubertModel", SPEECH, "speech"),
}
ALL = DECODERS | ENCODERS | PAIRS | OTHERS

# Their attention is their own: they call no registered function.
NOT_SEEN = {
    "bloom": A("BloomForCausalLM", {"vocab_size": WORDS, "hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "mpnet": A("MPNetForMaskedLM", SMALL),
    "deberta_v2": A("DebertaV2ForMaskedLM", SMALL),
    "roformer": A("RoFormerForMaskedLM", SMALL),
    "falcon": A("FalconForCausalLM", SMALL),
    "gptj": A("GPTJForCausalLM", {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4}),
    "xlnet": A("XLNetLMHeadModel", {"vocab_size": WORDS, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48}),
}  # fmt: skip
