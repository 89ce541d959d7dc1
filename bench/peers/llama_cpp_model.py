"""A GGUF file in llama.cpp, through the package llama-cpp-python: the logits of given tokens, and tokens a second."""
import ctypes
import time

import llama_cpp
import numpy

STEPS = 32


@llama_cpp.llama_log_callback
def quiet(_level, _text, _data):
    pass


llama_cpp.llama_log_set(quiet, ctypes.c_void_p(0))
VERSION = f"llama.cpp of llama-cpp-python {llama_cpp.__version__}"


class LlamaCppModel:
    """With room for `tokens`. Keys and values are f16, like llama.cpp's default; `exact` makes them f32. `flash` is
    llama.cpp's fused attention."""

    def __init__(self, path, threads, tokens, exact=False, flash=True):
        described = llama_cpp.llama_model_default_params()
        described.n_gpu_layers = 0
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), described)
        assert self.model, f"llama.cpp cannot read {path}"
        settings = llama_cpp.llama_context_default_params()
        settings.n_ctx = tokens
        settings.n_batch = settings.n_ubatch = 512
        settings.n_threads = settings.n_threads_batch = threads
        if exact:
            settings.type_k = settings.type_v = llama_cpp.GGML_TYPE_F32
        settings.flash_attn_type = (llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED if flash and not exact
                                    else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED)
        self.context = llama_cpp.llama_init_from_model(self.model, settings)
        assert self.context, f"llama.cpp cannot run {path}"
        self.words = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        llama_cpp.llama_free(self.context)
        llama_cpp.llama_model_free(self.model)

    def clear(self):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)

    def decode(self, ids):
        """Appends the tokens to the cache; the logits of the last one are computed."""
        array = (llama_cpp.llama_token * len(ids))(*ids)
        assert llama_cpp.llama_decode(self.context, llama_cpp.llama_batch_get_one(array, len(ids))) == 0
        llama_cpp.llama_synchronize(self.context)

    def logits(self, ids):
        """[tokens, words], with one pass per token."""
        self.clear()
        rows = []
        for token in ids:
            self.decode([token])
            rows.append(numpy.ctypeslib.as_array(llama_cpp.llama_get_logits(self.context), (self.words,)).copy())
        return numpy.stack(rows)

    def rate(self, case):
        """Tokens a second of prefill-N, or of STEPS steps behind N tokens: the fastest pass, after one prefill more."""
        kind, count = case.split("-")
        prompt = [1 + index % 200 for index in range(int(count))]
        self.clear()
        self.decode(prompt)
        times = []
        while len(times) < 5 or sum(times) < 0.5:  # like heed bench
            if kind == "step":  # forgets the steps before
                llama_cpp.llama_memory_seq_rm(llama_cpp.llama_get_memory(self.context), 0, len(prompt), -1)
            else:
                self.clear()
            begin = time.perf_counter()
            for part in [prompt] if kind == "prefill" else [[token] for token in range(1, STEPS + 1)]:
                self.decode(part)
            times.append(time.perf_counter() - begin)
        return (STEPS if kind == "step" else len(prompt)) / min(times)


def llama_cpp_rates(path, cases, threads):
    """The faster of llama.cpp's two attentions for each case."""
    rates = []
    for flash in (True, False):
        with LlamaCppModel(path, threads, STEPS + max(int(case.split("-")[1]) for case in cases), flash=flash) as model:
            rates.append([model.rate(case) for case in cases])
    return [max(pair) for pair in zip(*rates)]
