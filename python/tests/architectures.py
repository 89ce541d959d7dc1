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
    takes: Any = "text"  # a kind of input, or a function that makes one

    @property
    def is_decoder(self) -> bool:
        return self.model.endswith(("ForCausalLM", "LMHeadModel"))

    def made(self, implementation: Any = "eager") -> Any:
        kind = getattr(transformers, self.model)
        config = kind.config_class(**self.config)
        torch.manual_seed(3)
        model = kind._from_config(config, attn_implementation=implementation).eval()
        with torch.no_grad():  # larger than as initialised, so that weights are not all alike
            for parameter in model.parameters():
                if parameter.dim() > 1 and parameter.numel() > 1 and parameter.std() < 0.05:
                    parameter.mul_(4)
        return model

    def inputs(self, batch: int = 2, length: int = 11) -> dict[str, torch.Tensor]:
        if callable(self.takes):
            return self.takes()
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
        if self.takes == "sound and text":
            sound = torch.randn(batch, 2000, generator=generator)
            return {"input_values": sound, "decoder_input_ids": ids}
        if self.takes == "frames":
            return {"input_features": torch.randn(batch, 12, 8, generator=generator)}
        if self.takes == "spectrogram":
            return {"input_values": torch.randn(batch, 16, 8, generator=generator)}
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

# --- for the long matrix of test_watch_architectures.py -------------------------------------------

GPT = {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "bos_token_id": 1, "eos_token_id": 2}
MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_n_groups": 1, "mamba_chunk_size": 8}
SHARED = SMALL | {"num_hidden_layers": 6, "num_key_value_heads": 4, "layers_block_type": ["mamba", "mamba", "hybrid", "mamba", "hybrid", "mamba"]}
MORE = {
    # attention in some of the layers, or shared between layers
    "jamba": A("JambaForCausalLM", GROUPED | {"num_hidden_layers": 6, "attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "num_experts": 2, "num_experts_per_tok": 1, "mamba_d_state": 4, "mamba_dt_rank": 4, "use_mamba_kernels": False}),
    "lfm2": A("Lfm2ForCausalLM", GROUPED | {"num_hidden_layers": 4, "layer_types": ["conv", "full_attention"] * 2, "block_ff_dim": 48, "block_multiple_of": 8}),
    "bamba": A("BambaForCausalLM", GROUPED | MAMBA | {"num_hidden_layers": 4, "attn_layer_indices": [1, 3]}),
    "zamba": A("ZambaForCausalLM", SHARED | {"attn_layer_period": 2, "attn_layer_offset": 2, "mamba_d_state": 4, "mamba_dt_rank": 4, "n_mamba_heads": 2, "use_mamba_kernels": False}),
    "zamba2": A("Zamba2ForCausalLM", SHARED | {"hybrid_layer_ids": [2, 4], "mamba_d_state": 8, "mamba_headdim": 8, "n_mamba_heads": 8, "mamba_ngroups": 1, "chunk_size": 8, "num_mem_blocks": 1, "use_mem_rope": True, "adapter_rank": 4, "attention_head_dim": 16}),
    "nemotron_h": A("NemotronHForCausalLM", GROUPED | {"num_hidden_layers": 4, "hybrid_override_pattern": "M*-*", "head_dim": 8, "ssm_state_size": 8, "mamba_num_heads": 8, "mamba_head_dim": 8, "n_groups": 1, "chunk_size": 8}),
    "falcon_h1": A("FalconH1ForCausalLM", GROUPED | MAMBA | {"mamba_d_ssm": 64, "head_dim": 8}),
    "qwen3_next": A("Qwen3NextForCausalLM", GROUPED | {"num_hidden_layers": 4, "head_dim": 8, "layer_types": ["linear_attention", "full_attention"] * 2, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8, "num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16}),
    "olmo": A("OlmoForCausalLM", GROUPED),
    "exaone4": A("Exaone4ForCausalLM", GROUPED | MIXED),
    "glm4": A("Glm4ForCausalLM", GROUPED | {"head_dim": 8}),
    "nemotron": A("NemotronForCausalLM", GROUPED | {"head_dim": 8}),
    "helium": A("HeliumForCausalLM", GROUPED | {"head_dim": 8}),
    "apertus": A("ApertusForCausalLM", GROUPED),
    "gpt_bigcode": A("GPTBigCodeForCausalLM", GPT),
    "ctrl": A("CTRLLMHeadModel", GPT | {"dff": 48}),
    "ernie": A("ErnieForMaskedLM", SMALL),
    "xlm_roberta_xl": A("XLMRobertaXLForMaskedLM", SMALL),
    "data2vec_text": A("Data2VecTextForMaskedLM", SMALL),
    "layoutlm": A("LayoutLMForMaskedLM", SMALL),
    "eurobert": A("EuroBertForMaskedLM", GROUPED),
    "mobilebert": A("MobileBertForMaskedLM", SMALL | {"embedding_size": 16, "intra_bottleneck_size": 16}),
    "esm": A("EsmForMaskedLM", SMALL | {"position_embedding_type": "rotary", "mask_token_id": 3}),
    "blenderbot_small": A("BlenderbotSmallForConditionalGeneration", PAIR, "pair"),
    "plbart": A("PLBartForConditionalGeneration", PAIR, "pair"),
    "umt5": A("UMT5ForConditionalGeneration", T5, "pair"),
    "moonshine": A("MoonshineForConditionalGeneration", {"vocab_size": WORDS, "hidden_size": 32, "intermediate_size": 48, "encoder_num_hidden_layers": 2, "decoder_num_hidden_layers": 2, "encoder_num_attention_heads": 4, "decoder_num_attention_heads": 4, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}, "sound and text"),
    "dinov3": A("DINOv3ViTModel", PICTURE | {"num_register_tokens": 2}, "picture"),
    "dinov2_registers": A("Dinov2WithRegistersModel", PICTURE | {"num_register_tokens": 2}, "picture"),
    "vit_msn": A("ViTMSNModel", PICTURE, "picture"),
    "ijepa": A("IJepaModel", PICTURE, "picture"),
    "clip_vision": A("CLIPVisionModel", PICTURE, "picture"),
    "yolos": A("YolosModel", PICTURE | {"image_size": [16, 16], "num_detection_tokens": 3}, "picture"),
    "aimv2": A("Aimv2VisionModel", PICTURE | {"use_head": False}, "picture"),
    "beit": A("BeitModel", PICTURE, "picture"),
    "segformer": A("SegformerModel", {"hidden_sizes": [16, 32], "depths": [2, 1], "num_attention_heads": [2, 4], "num_encoder_blocks": 2, "sr_ratios": [2, 1], "patch_sizes": [3, 3], "strides": [2, 2], "mlp_ratios": [2, 2]}, "picture"),
    "ast": A("ASTModel", {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "patch_size": 4, "frequency_stride": 4, "time_stride": 4, "max_length": 16, "num_mel_bins": 8}, "spectrogram"),
    "unispeech": A("UniSpeechModel", SPEECH, "speech"),
    "data2vec_audio": A("Data2VecAudioModel", SPEECH | {"conv_pos_kernel_size": 3, "num_conv_pos_embeddings": 2}, "speech"),
    "sew": A("SEWModel", SPEECH | {"squeeze_factor": 2}, "speech"),
    "wav2vec2_bert": A("Wav2Vec2BertModel", {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "feature_projection_input_dim": 8, "apply_spec_augment": False}, "frames"),
}  # fmt: skip
MUSICGEN = A("MusicgenForConditionalGeneration", {
    "text_encoder": {"model_type": "t5", **T5},
    "audio_encoder": {"model_type": "encodec", "hidden_size": 16, "num_filters": 4, "codebook_size": 32, "upsampling_ratios": [4, 4]},
    "decoder": {"vocab_size": 32, "hidden_size": 32, "num_hidden_layers": 2, "ffn_dim": 48, "num_attention_heads": 4, "num_codebooks": 4},
}, lambda: {"input_ids": torch.arange(3, 17).view(2, 7), "decoder_input_ids": torch.arange(40).view(8, 5) % 32})
SWIN = A("SwinModel", {"image_size": 16, "patch_size": 2, "embed_dim": 16, "depths": [2, 1], "num_heads": [2, 4], "window_size": 4}, "picture")

ROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]}
IMAGE = 98  # the id of a token that stands for a part of an image


def text_with(images: int, *shape: int, **others: Any) -> Any:
    """Makes a text of 24 tokens of which some are an image, and pixels of a shape."""

    def made() -> dict[str, torch.Tensor]:
        ids = torch.arange(10, 34)[None]
        ids[torch.tensor(of_images(images)) == 1] = IMAGE
        pixels = torch.randn(shape, generator=torch.Generator().manual_seed(4))
        return {"input_ids": ids, "pixel_values": pixels} | {
            name: torch.tensor(value) for name, value in others.items()
        }

    return made


def of_images(images: int) -> list[list[int]]:
    """Which tokens are an image's. Ten are two images, with a word between them."""
    places = [1] * 4 + [0] + [1] * 6 if images == 10 else [1] * images
    return [places + [0] * (24 - len(places))]


QWEN_TEXT = GROUPED | {"head_dim": 8, "rope_parameters": ROPE, "rope_scaling": ROPE}
QWEN_EYES = {"depth": 2, "hidden_size": 32, "num_heads": 4, "patch_size": 4, "spatial_merge_size": 2, "temporal_patch_size": 2}
QWEN = {"image_token_id": IMAGE, "vision_start_token_id": 97, "vision_end_token_id": 96, "video_token_id": 95}
TWO_IMAGES = text_with(10, 40, 96, image_grid_thw=[[1, 4, 4], [1, 4, 6]], mm_token_type_ids=of_images(10))
LLAMA = GROUPED | {"model_type": "llama"}
WITH_IMAGES = {
    "llava": A("LlavaForConditionalGeneration", {"text_config": LLAMA, "vision_config": PICTURE | {"model_type": "clip_vision_model"}, "image_token_id": IMAGE, "image_token_index": IMAGE, "vision_feature_layer": -1}, text_with(16, 1, 3, 16, 16)),
    "llava_next": A("LlavaNextForConditionalGeneration", {"text_config": LLAMA, "vision_config": PICTURE | {"model_type": "clip_vision_model", "patch_size": 8}, "image_token_id": IMAGE, "image_token_index": IMAGE, "vision_feature_layer": -1, "image_grid_pinpoints": [[16, 16], [32, 16], [32, 32]]}, text_with(10, 1, 2, 3, 16, 16, image_sizes=[[16, 16]])),
    "qwen2_vl": A("Qwen2VLForConditionalGeneration", QWEN | {"text_config": QWEN_TEXT, "vision_config": QWEN_EYES | {"embed_dim": 32, "mlp_ratio": 2}}, TWO_IMAGES),
    "qwen2_5_vl": A("Qwen2_5_VLForConditionalGeneration", QWEN | {"text_config": QWEN_TEXT, "vision_config": QWEN_EYES | {"intermediate_size": 48, "window_size": 16, "fullatt_block_indexes": [1], "out_hidden_size": 32}}, TWO_IMAGES),
    "qwen3_vl": A("Qwen3VLForConditionalGeneration", QWEN | {"text_config": QWEN_TEXT, "vision_config": QWEN_EYES | {"intermediate_size": 48, "out_hidden_size": 32, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]}}, TWO_IMAGES),
    "mllama": A("MllamaForConditionalGeneration", {"text_config": GROUPED | {"model_type": "mllama_text_model", "num_hidden_layers": 5, "cross_attention_layers": [1, 3], "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}, "vision_config": {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_global_layers": 1, "attention_heads": 4, "image_size": 16, "patch_size": 4, "vision_output_dim": 64, "intermediate_layers_indices": [0], "max_num_tiles": 2, "supported_aspect_ratios": [[1, 1], [1, 2]]}, "image_token_index": IMAGE}, text_with(1, 1, 1, 2, 3, 16, 16, aspect_ratio_ids=[[2]], aspect_ratio_mask=[[[1, 1]]], cross_attention_mask=[[[[1, 1]]] * 24])),
    "idefics3": A("Idefics3ForConditionalGeneration", {"text_config": LLAMA, "vision_config": PICTURE, "image_token_id": IMAGE, "scale_factor": 2, "pad_token_id": 0}, text_with(4, 1, 1, 3, 16, 16)),
    "smolvlm": A("SmolVLMForConditionalGeneration", {"text_config": LLAMA, "vision_config": PICTURE, "image_token_id": IMAGE, "scale_factor": 2, "pad_token_id": 0}, text_with(4, 1, 1, 3, 16, 16)),
    "internvl": A("InternVLForConditionalGeneration", {"text_config": GROUPED | {"model_type": "qwen2"}, "vision_config": PICTURE | {"image_size": [16, 16], "patch_size": [4, 4]}, "image_token_id": IMAGE, "image_seq_length": 4, "downsample_ratio": 0.5}, text_with(4, 1, 3, 16, 16)),
    "gemma3_vl": A("Gemma3ForConditionalGeneration", {"text_config": GROUPED | MIXED | {"head_dim": 8}, "vision_config": PICTURE | {"vision_use_head": False}, "image_token_id": IMAGE, "mm_tokens_per_image": 4}, text_with(4, 1, 3, 16, 16, token_type_ids=of_images(4), attention_mask=[[1] * 24])),
    "paligemma": A("PaliGemmaForConditionalGeneration", {"text_config": GROUPED | {"head_dim": 8, "model_type": "gemma"}, "vision_config": PICTURE | {"model_type": "siglip_vision_model", "vision_use_head": False}, "image_token_id": IMAGE, "image_token_index": IMAGE, "projection_dim": 32, "hidden_size": 32}, text_with(16, 1, 3, 16, 16, token_type_ids=[[0] * 24], attention_mask=[[1] * 24])),
}  # fmt: skip

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
