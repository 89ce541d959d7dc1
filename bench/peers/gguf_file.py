"""Random decoders of transformers as GGUF files, for llama.cpp; without a vocabulary of words."""
import gguf
import torch

NAMES = {
    "gpt2": ("transformer.h.{}.", {
        "ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm",
        "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}),
    "llama": ("model.layers.{}.", {
        "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}),
}
OUTER = {
    "transformer.wte.weight": "token_embd.weight", "transformer.wpe.weight": "position_embd.weight",
    "transformer.ln_f.weight": "output_norm.weight", "transformer.ln_f.bias": "output_norm.bias",
    "model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


def in_pairs(weight, heads):
    """Rows of q and k where llama.cpp rotates neighbours, and transformers one half with the other."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def tensors(model, kind):
    layer, inner = NAMES[kind]
    names = dict(OUTER)
    for i in range(model.config.num_hidden_layers):
        for theirs, ours in inner.items():
            for end in (".weight", ".bias"):
                names[layer.format(i) + theirs + end] = f"blk.{i}.{ours}{end}"
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        if ".c_" in name and tensor.dim() == 2:  # GPT-2's Conv1D holds [in, out]
            tensor = tensor.T
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            tensor = in_pairs(tensor, model.config.num_attention_heads)
        yield names[name], tensor.contiguous()


def describe(writer, config, kind):
    writer.add_tokenizer_model("no_vocab")
    writer.add_vocab_size(config.vocab_size)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    if kind == "gpt2":
        writer.add_feed_forward_length(4 * config.hidden_size)
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
        return
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)


def write(path, model, kind, dtype):
    """A f32 model; its matrices become `dtype` (f32 or bf16), as llama.cpp's own converter makes them."""
    writer = gguf.GGUFWriter(path, kind)
    describe(writer, model.config, kind)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32 if dtype == "f32" else gguf.LlamaFileType.MOSTLY_BF16)
    for name, tensor in tensors(model.float(), kind):
        if dtype == "bf16" and tensor.dim() == 2:
            raw = tensor.to(torch.bfloat16).view(torch.uint8).numpy()
            writer.add_tensor(name, raw, raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(name, tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
