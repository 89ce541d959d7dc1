"""The speed of tiktoken and tokenizers, to stand beside `heed bench tokenize` on the same file and one thread.

    python bench/peers/text_to_tokens.py --ranks r50k_base.tiktoken --tokenizer gpt2/tokenizer.json --text story.txt
        [--heed build/release/heed]

With --heed the three take turns, so that they meet the same machine. MB are 10^6 bytes of the text.
"""
import argparse
import base64
import json
import os
import statistics
import subprocess
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

PATTERNS = {
    "r50k_base": r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
    "cl100k_base": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"""
                   r"""|\s*[\r\n]|\s+(?!\S)|\s""",
}


def seconds(work, times=5):
    work()
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def open_tiktoken(path):
    import tiktoken
    name = os.path.splitext(os.path.basename(path))[0]
    with open(path) as file:
        ranks = {base64.b64decode(line.split()[0]): int(line.split()[1]) for line in file}
    return tiktoken.Encoding(name, pat_str=PATTERNS[name], mergeable_ranks=ranks, special_tokens={})


def heed_row(program, tokenizer, text):
    done = subprocess.run([program, "bench", "tokenize", "--tokenizer", tokenizer, "--text", text, "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)[0]["encode_megabytes_per_second"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", help="a .tiktoken file")
    parser.add_argument("--tokenizer", help="a tokenizer.json")
    parser.add_argument("--text", required=True)
    parser.add_argument("--heed", help="the program, to take turns with")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with open(options.text, encoding="utf-8", newline="") as file:
        text = file.read()
    megabytes = len(text.encode()) / 1e6
    ours = options.ranks or options.tokenizer
    for _ in range(options.rounds):
        row = []
        if options.heed:
            row.append(f"heed {heed_row(options.heed, ours, options.text):.1f}")
        if options.ranks:
            encoding = open_tiktoken(options.ranks)
            row.append(f"tiktoken {megabytes / seconds(lambda: encoding.encode_ordinary(text)):.1f}")
        if options.tokenizer:
            import tokenizers
            library = tokenizers.Tokenizer.from_file(options.tokenizer)
            row.append(f"tokenizers {megabytes / seconds(lambda: library.encode(text), 1):.1f}")
        print(", ".join(row), "MB/s")


if __name__ == "__main__":
    main()
