"""Encoders and encoder-decoders of every family, made tiny and random by transformers: `heed check model` finds the
states of each layer, every attention, the logits and the loss of a padded batch, and of an encoder-decoder a greedy
text over a cache, as transformers gives them; transformers opens what `heed convert` writes of them, and gives the
same logits.

Runs where torch and transformers are installed, else says why it does not. Usage:
    python tests/peers/encoders_test.py build/release/heed [NAME ...]
"""

import inspect

from decoders_test import SIZES, WORDS, golden_of_pass, run_all, stacked, texts, torch

PAIR = {"vocab_size": WORDS, "d_model": 48, "encoder_layers": 3, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 6, "encoder_ffn_dim": 80, "decoder_ffn_dim": 64, "max_position_embeddings": 64,
        "decoder_start_token_id": 2}
T5 = {"vocab_size": WORDS, "d_model": 48, "d_kv": 16, "d_ff": 80, "num_layers": 3, "num_decoder_layers": 2,
      "num_heads": 4, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 10,
      "decoder_start_token_id": 0}
TWO = {"type_vocab_size": 2}
COUNTED = {"pad_token_id": 1, "bos_token_id": 0}
SPECIAL = {"cls_token_id": 1, "sep_token_id": 2, "local_attention": 6}

CONFIGS = {
    "bert": ("BertForMaskedLM", SIZES),
    "roberta": ("RobertaForMaskedLM", SIZES | COUNTED),
    "distilbert": ("DistilBertForMaskedLM", {"vocab_size": WORDS, "dim": 48, "hidden_dim": 80, "n_layers": 3,
                                             "n_heads": 4, "max_position_embeddings": 64}),
    "electra": ("ElectraForMaskedLM", SIZES | {"embedding_size": 32}),
    "electra without a projection": ("ElectraForMaskedLM", SIZES | {"embedding_size": 48}),
    "albert": ("AlbertForMaskedLM", SIZES | {"embedding_size": 32}),
    "albert in groups": ("AlbertForMaskedLM", SIZES | {"embedding_size": 32, "num_hidden_groups": 2,
                                                       "inner_group_num": 2}),
    "mpnet": ("MPNetForMaskedLM", SIZES | COUNTED),
    "modernbert": ("ModernBertForMaskedLM", SIZES | SPECIAL),
    "nomic_bert": ("NomicBertForMaskedLM", SIZES),
    "marian": ("MarianMTModel", PAIR | {"decoder_start_token_id": 0}),
    "blenderbot": ("BlenderbotForConditionalGeneration", PAIR),
    "bart": ("BartForConditionalGeneration", PAIR | COUNTED),
    "bart, scaled": ("BartForConditionalGeneration", PAIR | COUNTED | {"scale_embedding": True}),
    "mbart": ("MBartForConditionalGeneration", PAIR | COUNTED | {"scale_embedding": True}),
    "m2m_100": ("M2M100ForConditionalGeneration", PAIR | COUNTED),
    "pegasus": ("PegasusForConditionalGeneration", PAIR | {"decoder_start_token_id": 0, "eos_token_id": 1}),
    "t5": ("T5ForConditionalGeneration", T5),
    "mt5": ("MT5ForConditionalGeneration", T5),
    "umt5": ("UMT5ForConditionalGeneration", T5),
}


def types_of(model, ids):
    """Random types of tokens, if the model has some."""
    count = getattr(model.config, "type_vocab_size", 0)
    if count < 2 or "token_type_ids" not in inspect.signature(model.forward).parameters:
        return {}
    return {"token_type_ids": torch.randint(0, count, ids.shape, generator=torch.Generator().manual_seed(5))}


def golden_of_pair(model):
    ids, mask = texts(3, 15, 9)
    decoder_ids = texts(4, 7, 7)[0]
    start = decoder_ids[:, 0] = model.config.decoder_start_token_id
    labels = torch.roll(decoder_ids, -1, dims=1)
    with torch.no_grad():
        out = model(ids, attention_mask=mask, decoder_input_ids=decoder_ids, labels=labels, output_attentions=True,
                    output_hidden_states=True)
        written = model.generate(ids[:1], attention_mask=mask[:1], max_new_tokens=20, min_new_tokens=20,
                                 do_sample=False, num_beams=1, eos_token_id=None, forced_eos_token_id=None)
    return {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": decoder_ids, "labels": labels,
            "logits": out.logits, "loss": out.loss.reshape(1),
            "encoder_last_hidden_state": out.encoder_last_hidden_state,
            "last_hidden_state": out.decoder_hidden_states[-1], "greedy_prompt": ids[:1],
            "greedy_decoder_start": torch.tensor([[start]]), "greedy": written[:, 1:],
            **stacked(encoder_hidden_states=out.encoder_hidden_states[:-1],
                      decoder_hidden_states=out.decoder_hidden_states[:-1],
                      encoder_attentions=out.encoder_attentions, decoder_attentions=out.decoder_attentions,
                      cross_attentions=out.cross_attentions)}


def golden_of(model):
    golden = golden_of_pair(model) if model.config.is_encoder_decoder else golden_of_pass(model, types_of)
    return {name: tensor.contiguous().clone() for name, tensor in golden.items()}


if __name__ == "__main__":
    run_all(CONFIGS, golden_of)
