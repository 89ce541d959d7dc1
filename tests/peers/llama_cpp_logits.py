"""Logits of one text in llama.cpp, of each of several GGUF files; a model without a head for words gives its last states.
A process of its own, because llama.cpp ends the process where it meets a tensor of a type that it does not expect. Usage:
    python tests/peers/llama_cpp_logits.py IDS DECODER_IDS OUT.npy FILE ...
"""

import ctypes
import sys

import llama_cpp
import numpy


def settings_of(tokens, is_encoder):
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx, settings.n_batch, settings.n_ubatch = tokens, tokens, tokens
    settings.n_threads = settings.n_threads_batch = 1
    settings.type_k = settings.type_v = llama_cpp.GGML_TYPE_F32
    settings.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    settings.embeddings, settings.pooling_type = is_encoder, llama_cpp.LLAMA_POOLING_TYPE_NONE
    return settings


def passed(run, context, ids):
    array = (llama_cpp.llama_token * len(ids))(*ids)
    assert run(context, llama_cpp.llama_batch_get_one(array, len(ids))) == 0


def rows(pointer, *shape):
    return numpy.ctypeslib.as_array(pointer, shape).copy()


def architecture_of(model):
    name = ctypes.create_string_buffer(64)
    llama_cpp.llama_model_meta_val_str(model, b"general.architecture", name, len(name))
    return name.value.decode()


def logits_of(path, ids, decoder_ids):
    described = llama_cpp.llama_model_default_params()
    described.n_gpu_layers = 0
    model = llama_cpp.llama_model_load_from_file(path.encode(), described)
    assert model, f"llama.cpp cannot read {path}"
    is_encoder = architecture_of(model) in ("bert", "t5encoder")
    context = llama_cpp.llama_init_from_model(model, settings_of(64, is_encoder))
    assert context, f"llama.cpp cannot run {path}"
    if is_encoder or llama_cpp.llama_model_has_encoder(model):
        passed(llama_cpp.llama_encode, context, ids)
    if is_encoder:
        return rows(llama_cpp.llama_get_embeddings(context), len(ids), llama_cpp.llama_model_n_embd(model))
    ids, found = decoder_ids or ids, []
    words = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    for token in ids:
        passed(llama_cpp.llama_decode, context, [token])
        found.append(rows(llama_cpp.llama_get_logits(context), words))
    return numpy.stack(found)


@llama_cpp.llama_log_callback
def report_errors(level, text, _data):
    if level == 4:  # GGML_LOG_LEVEL_ERROR
        sys.stderr.write(text.decode())


def main():
    llama_cpp.llama_log_set(report_errors, ctypes.c_void_p(0))
    ids, decoder_ids = ([int(token) for token in text.split(",") if token] for text in sys.argv[1:3])
    arrays = []
    for path in sys.argv[4:]:
        print(path, flush=True)  # the last line names the file that ended the process
        arrays.append(logits_of(path, ids, decoder_ids))
    numpy.save(sys.argv[3], numpy.stack(arrays))


if __name__ == "__main__":
    main()
