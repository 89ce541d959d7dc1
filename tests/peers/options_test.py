"""Options of every family, drawn at random: 1 to 3 settings of a tiny model take other values, and its files have other
spellings of the hub. `heed check model` finds the numbers of transformers or refuses the folder by one line, and
transformers computes the same from what `heed convert` writes.

Runs where torch and transformers are installed, else says why it does not. Usage:
    python tests/peers/options_test.py build/release/heed [NAME ...] [--draws N] [--first SEED] [--all]
`--draws 1 --first SEED NAME` repeats a draw by the seed that its line shows; `--all` prints every draw.
"""

import argparse
import contextlib
import io
import pathlib
import random
import sys
import tempfile

import decoders_test
import encoders_test
from decoders_test import save_file, torch, transformers
from option_draws import drawn_settings, rename, respell
from program import run

MORE = {
    "mistral": ("MistralForCausalLM", decoders_test.GROUPED | {"sliding_window": 6}),
    "ministral": ("MinistralForCausalLM", decoders_test.GROUPED | decoders_test.TYPES | {"head_dim": 16}),
    "qwen2": ("Qwen2ForCausalLM", decoders_test.GROUPED),
    "qwen2, sliding": ("Qwen2ForCausalLM", decoders_test.GROUPED | {
        "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}),
    "qwen3, sliding": ("Qwen3ForCausalLM", decoders_test.GROUPED | {
        "head_dim": 16, "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}),
    "falcon with alibi": ("FalconForCausalLM", decoders_test.FALCON | {"alibi": True, "parallel_attn": False,
                                                                      "multi_query": False, "bias": True}),
    "camembert": ("CamembertForMaskedLM", encoders_test.SIZES | encoders_test.COUNTED),
    "xlm-roberta": ("XLMRobertaForMaskedLM", encoders_test.SIZES | encoders_test.COUNTED),
    "t5, gated": ("T5ForConditionalGeneration", encoders_test.T5 | {"feed_forward_proj": "gated-gelu"}),
}
CONFIGS = decoders_test.CONFIGS | encoders_test.CONFIGS | MORE


def is_stretched(config):
    """Whether a growing text changes the rotation of its first tokens."""
    said = getattr(config, "rope_parameters", None) or {}
    parts = [part for part in (said, *said.values()) if isinstance(part, dict)]
    return any(part.get("rope_type") in ("dynamic", "longrope") for part in parts)


def golden_of(model):
    is_decoder = model.can_generate() and not model.config.is_encoder_decoder
    golden = (decoders_test if is_decoder else encoders_test).golden_of(model)
    sees_all = not getattr(model.config, "is_causal", True)  # heed's loss is then that of hidden words
    if is_stretched(model.config) or sees_all:
        golden = {name: value for name, value in golden.items() if not name.startswith("greedy")}
    if getattr(model.config, "output_router_logits", False) or sees_all:
        golden.pop("loss", None)
    if getattr(model.config, "alibi", False):  # transformers adds it twice to weights that it gives out
        golden = {name: value for name, value in golden.items() if not name.startswith("attentions")}
        with torch.no_grad():
            out = model(golden["input_ids"], attention_mask=golden["attention_mask"], output_hidden_states=True)
        golden |= {"logits": out.logits, "last_hidden_state": out.hidden_states[-1].clone()}
        golden |= {f"hidden_states.{at}": state.clone() for at, state in enumerate(out.hidden_states[:-1])}
        golden.pop("loss", None)
    return golden


def written(rng, kind, settings, folder):
    """Writes a folder as drawn; returns its spelling and the model that transformers reads from it."""
    model = decoders_test.made(kind.__name__, settings, seed=rng.randrange(1000))
    kind_of_numbers = rng.choice([torch.float32] * 3 + [torch.bfloat16, torch.float16])
    shard = rng.choice(["1GB"] * 3 + ["40KB"])
    model.to(kind_of_numbers).save_pretrained(folder, max_shard_size=shard)
    (folder / "generation_config.json").unlink(missing_ok=True)
    spelling = respell(rng, folder, kind) + rename(rng, folder, model)
    eager = "sdpa" if settings.get("alibi") and "Falcon" in kind.__name__ else "eager"
    again, report = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation=eager,
                                         output_loading_info=True)
    for trouble in ("missing_keys", "mismatched_keys", "unexpected_keys"):
        if report[trouble]:
            raise ValueError(f"{trouble} {sorted(report[trouble])[:3]}")
    if getattr(again, "generation_config", None):
        again.generation_config.use_cache = False  # a window of 1 is none in the cache of transformers
    return [str(kind_of_numbers)[6:], *(["shards"] if shard != "1GB" else []), *spelling], again.eval()


def is_rounding(line):
    """Whether a line of `heed check model` is a little above its tolerance, which sharp random weights need."""
    words = line.split()
    return words[0] == "failed" and float(words[3]) <= 8 * float(words[5])


def outcome(program, folder, golden):
    if not all(value.isfinite().all() for value in golden.values()):
        return "skipped", "not finite"
    save_file(golden, folder / "golden.safetensors")
    checked = run(program, "check", "model", folder)
    if checked.returncode == 0:
        return "equal", ""
    if checked.returncode == 2 and len(checked.stderr.strip().splitlines()) == 1:
        return "refused", checked.stderr.strip().replace(str(folder), "")
    failed = [line for line in checked.stdout.splitlines() if line.startswith(("failed", "unknown"))]
    if checked.returncode == 1 and failed and all(is_rounding(line) for line in failed):
        return "equal", "but for rounding"
    return "WRONG", f"status {checked.returncode} " + checked.stderr.strip() + "\n    " + "\n    ".join(failed[:3])


def fault_of_converted(program, folder, model, golden):
    """Why transformers does not compute the same from what `heed convert` writes; empty if it does."""
    written = folder.with_name(folder.name + " written")
    if (converted := run(program, "convert", folder, "-o", written)).returncode:
        return "convert: " + converted.stderr.strip()
    with contextlib.redirect_stderr(io.StringIO()):
        _, logits = decoders_test.reopened(model, written, golden)
    worst = (logits - decoders_test.logits_of(model, golden)).abs().max().item()
    return "" if worst <= 2e-5 else f"logits of what heed wrote differ by {worst:.2g}"


def draw(program, name, seed, scratch):
    rng = random.Random(f"{name} {seed}")
    kind = getattr(transformers, CONFIGS[name][0])
    base = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0} | CONFIGS[name][1]
    folder = pathlib.Path(scratch) / f"{name} {seed}"
    changed, spelling = {}, []
    try:
        settings = drawn_settings(rng, kind, base)
        changed = {key: value for key, value in settings.items() if value != base.get(key, "no")}
        with contextlib.redirect_stderr(io.StringIO()):
            spelling, model = written(rng, kind, settings, folder)
            golden = golden_of(model)
    except Exception as error:  # transformers cannot make or run it
        return "skipped", changed, spelling, f"{type(error).__name__}: {error}".splitlines()[0][:150]
    verdict, why = outcome(program, folder, golden)
    if verdict == "equal" and seed % 3 == 0 and (fault := fault_of_converted(program, folder, model, golden)):
        verdict, why = "WRONG", fault
    return verdict, changed, spelling, why


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    wrong = 0
    for name in options.names or CONFIGS:
        counts = {}
        with tempfile.TemporaryDirectory() as scratch:
            for seed in range(options.first, options.first + options.draws):
                verdict, changed, spelling, why = draw(options.program, name, seed, scratch)
                counts[verdict] = counts.get(verdict, 0) + 1
                if options.all or verdict in ("refused", "WRONG"):
                    print(f"{name} {seed}: {verdict} {why}\n    {changed} {spelling}", flush=True)
        wrong += counts.get("WRONG", 0)
        print(f"{name}: {counts}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
