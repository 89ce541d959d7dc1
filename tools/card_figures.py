#!/usr/bin/env python3
"""Measures what the card of a built-in model claims, and prints it as the table of its section "Figures".

    tools/card_figures.py build/release/heed models/tales              prints the table
    tools/card_figures.py build/release/heed models/tales --check      compares it with that of card.md

What is measured follows from the task in the folder's train.json: the validation loss of `heed train`, and what heads
do: on random tokens that repeat and on pronouns (lm), on pairs of sentences (mlm), on pairs of words in translations
(seq2seq), whose BLEU and chrF are those of sacrebleu. Rows that need the training data, or sacrebleu, are left out with
their reason where these are not there. --check exits with 77 where nothing could be compared.
"""
import argparse
import array
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("HEED_SHARED_DATA", ROOT.parent / "shared" / "data"))
SKIPPED = 77

# Two sentences that share words, as one would write them by hand; no text of the training data.
PAIRS = [
    ("The old king had three daughters.", "The youngest of the daughters loved the king."),
    ("The cat sat on the mat.", "The cat was asleep."),
    ("A farmer went to the market with his horse.", "At the market he sold the horse."),
    ("The boy threw a stone into the river.", "The stone sank and the river was still."),
    ("My sister wrote a long letter.", "The letter came in the morning."),
    ("The ship left the harbour at night.", "No one saw the ship again."),
    ("There was a great fire in the town.", "The fire burned the church."),
    ("The doctor gave the child some water.", "The child drank the water."),
    ("He put his hat upon the table.", "The hat fell from the table."),
    ("The wolf ran through the wood.", "In the wood the wolf found a lamb."),
    ("She opened the door and looked out.", "There was nobody at the door."),
    ("The soldier lost his sword in the battle.", "After the battle he found the sword."),
]

# English words and what they are in the Japanese half of the Tanaka corpus, where a word has one translation.
WORDS = dict(line.split() for line in """
he 彼|she 彼女|i 私|they 彼ら|today 今日|tomorrow 明日|yesterday 昨日|school 学校|book 本|father 父|mother 母|doctor 医者
water 水|car 車|japan 日本|english 英語|dog 犬|cat 猫|music 音楽|money お金|house 家|snow 雪|rain 雨|letter 手紙
tokyo 東京|name 名前|window 窓|door ドア|problem 問題|night 夜|war 戦争|baseball 野球|piano ピアノ|station 駅|tennis テニス
party パーティー|summer 夏|winter 冬|train 列車|bus バス|river 川|sea 海|mountain 山|flower 花|tree 木|morning 朝
hospital 病院|teacher 先生|picture 写真|phone 電話|work 仕事|room 部屋|world 世界|city 都市|law 法律|radio ラジオ
""".strip().replace("\n", "|").split("|"))


class Figures:
    """Rows of the table: a name, a number as it is printed, and how far another run may be from it."""

    def __init__(self):
        self.rows = []
        self.missing = []

    def add(self, name, value, text, tolerance):
        self.rows.append((name, value, text, tolerance))

    def share(self, name, value, tolerance=0.02):
        self.add(name, value, f"{value:.2f}".lstrip("0") if value < 1 else f"{value:.2f}", tolerance)

    def percent(self, name, value, tolerance=1.0):
        self.add(name, 100 * value, f"{100 * value:.1f} %", tolerance)


def heed(program, *arguments, cwd=None):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, cwd=cwd)
    if done.returncode != 0:
        sys.exit(f"heed {arguments[0]}: {done.stderr.strip()}")
    return done


def weights_of(program, *look):
    """Tokens of the two sides, and weights by (layer, head): a list of rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "weights.npy"
        heed(program, "look", *look, "--format", "npy", "--what", "weights", "-o", path)
        content = path.read_bytes()
    end = 10 + int.from_bytes(content[8:10], "little")
    layers, heads, queries, keys = map(int, re.findall(r"\d+", content[10:end].decode().split("'shape'")[1]))
    flat = array.array("f", content[end:])
    row = lambda at: flat[at * keys:(at + 1) * keys]
    places = {(layer, head): [row((layer * heads + head) * queries + i) for i in range(queries)]
              for layer in range(layers) for head in range(heads)}
    answer = json.loads(heed(program, "look", *look, "--format", "json").stdout)
    return answer, places


def best(figures, name, means, **how):
    """The head whose mean is largest."""
    place = max(means, key=means.get)
    figures.share(f"head {place[0]}.{place[1]}: {name}", means[place], **how)


class Means:
    """The values of each head, over all rows that count."""

    def __init__(self):
        self.sums, self.rows = {}, 0

    def add(self, places, value):
        for place, rows in places.items():
            self.sums[place] = self.sums.get(place, 0) + value(rows)
        self.rows += 1

    def all(self):
        return {place: total / self.rows for place, total in self.sums.items()}


def rejoined(text):
    """As `rejoin_lines` does."""
    paragraphs, inside = [], []
    for line in [*text.split("\n"), ""]:
        line = line.strip(" \t\r\v\f")
        if line:
            inside.append(line)
        elif inside:
            paragraphs.append(" ".join(inside))
            inside = []
    return "".join(paragraph + "\n" for paragraph in paragraphs)


def validation_bytes(config, data, as_read):
    """Of the files' last parts: as they lie on the disk, or as they were read (rejoin_lines)."""
    total = 0
    for name in config["data"]:
        path = data / name
        for file in sorted(path.glob("*.txt")) if path.is_dir() else [path]:
            text = rejoined(file.read_text()) if as_read and config.get("rejoin_lines") else file.read_text()
            size = len(text.encode())
            total += size - int(size * (1 - config["validation"]))
    return total


def add_validation(figures, program, model, config, data):
    """A step whose learning rate is 0, and the evaluation behind it."""
    missing = [name for name in config["data"] if not (data / name).exists()]
    if missing:
        figures.missing.append(f"no {data / missing[0]}: its losses are not measured")
        return
    still = ["--steps", 1, "--batch", 1, "--accumulate", 1, "--learning-rate", 0, "--final-learning-rate", 0, "--warmup", 0,
             "--sample-every", 0, "--evaluate-sequences", 0, "--decay", 0]
    if config.get("stories"):
        still += ["--stories", 0]
    with tempfile.TemporaryDirectory() as folder:
        quiet = pathlib.Path(folder) / "train.json"
        own = {**config, "model": {}, "start_from": str(model), "tokenizer": str(model), "precision": "f32"}
        quiet.write_text(json.dumps({key: own[key] for key in own if key != "initial_positions"}))
        heed(program, "train", quiet, "-o", pathlib.Path(folder) / "run", *still, cwd=data)
        last = (pathlib.Path(folder) / "run/loss.csv").read_text().split()[-1].split(",")
        card = (pathlib.Path(folder) / "run/model/card.md").read_text()
    figures.add("validation loss, nats per token", float(last[2]), f"{float(last[2]):.4f}", 0.005)
    if config["task"] == "lm":
        tokens = int(re.search(r"(\d+) for validation", card).group(1))
        for of, as_read in (("files", False), ("text with its lines joined", True)):
            bits = float(last[2]) * tokens / validation_bytes(config, data, as_read) / math.log(2)
            figures.add(f"validation, bits a byte of the {of}", bits, f"{bits:.3f}", 0.003)
    else:
        figures.percent("validation, right answers", float(last[-1]), 0.3)


def measure_decoder(figures, program, model, *_):
    found = json.loads(heed(program, "models", model, "--pronouns", "--json").stdout)
    probe = found["probe"]
    heads = {(head["layer"], head["head"]): head for head in probe["heads"]}
    for name, score in (("the token before", "previous"), ("the same token, earlier", "duplicate"),
                        ("the token behind the same one (induction)", "induction")):
        best(figures, f"{name}, on random tokens", {place: head[score] for place, head in heads.items()})
    first = Means()
    for sentences in PAIRS:
        _, places = weights_of(program, " ".join(sentences), "--model", model)
        for i in range(4, len(next(iter(places.values())))):
            first.add(places, lambda rows, i=i: rows[i][0])
    best(figures, f"the first token, from the fifth on, {len(PAIRS)} texts of two sentences", first.all())
    lower = probe["loss_first"] - probe["loss_repeated"]
    figures.add("random tokens, loss of the second half lower by (nats)", lower, f"{lower:.2f}", 0.1)
    pronouns = {(head["layer"], head["head"]): head for head in found["pronouns"]}
    place = max(pronouns, key=lambda at: (pronouns[at]["right"], pronouns[at]["noun"]))
    name = f"head {place[0]}.{place[1]}: she or he to its noun and not to the other person"
    figures.percent(f"{name}, 200 new sentences", pronouns[place]["right"])
    figures.share(f"{name}, weight", pronouns[place]["noun"])


def add_gaps(figures, program, model):
    """A sentence, and the same one with a gap: whether the gap finds its word in the other one."""
    there, right = Means(), 0
    for sentence, _ in PAIRS:
        words = sentence.rstrip(".").split()
        for k in (k for k, word in enumerate(words) if len(word) > 2):
            gapped = " ".join([*words[:k], "[MASK]", *words[k + 1:]]) + "."
            answer, places = weights_of(program, sentence, "--pair", gapped, "--model", model)
            gap = answer["filled"][0]
            same = [i for i, token in enumerate(answer["tokens"][:answer["split"]])
                    if token["text"].strip() == words[k].lower()]
            if len(same) != 1:
                continue
            right += gap["words"][0]["token"].strip() == words[k].lower()
            there.add(places, lambda rows, gap=gap["index"], key=same[0]: rows[gap][key])
    best(figures, f"a gap to its word in the other sentence, {there.rows} gaps", there.all())
    figures.percent("gaps that are filled with that word", right / there.rows)


def measure_encoder(figures, program, model, *_):
    before, behind, ends, other = Means(), Means(), Means(), Means()
    for first, second in PAIRS:
        answer, places = weights_of(program, first, "--pair", second, "--model", model)
        texts = [token["text"].strip() for token in answer["tokens"]]
        special = [i for i, text in enumerate(texts) if text in ("[CLS]", "[SEP]")]
        for i, text in enumerate(texts):
            if i in special:
                continue
            before.add(places, lambda rows, i=i: rows[i][i - 1])
            behind.add(places, lambda rows, i=i: rows[i][i + 1])
            ends.add(places, lambda rows, i=i: sum(rows[i][j] for j in special))
            same = [j for j, one in enumerate(texts)
                    if one == text and text.isalpha() and (j < answer["split"]) != (i < answer["split"])]
            if same:
                other.add(places, lambda rows, i=i, same=same: sum(rows[i][j] for j in same))
    best(figures, f"the token before, {len(PAIRS)} pairs of sentences", before.all())
    best(figures, "the token behind", behind.all())
    best(figures, "[CLS] and [SEP]", ends.all())
    best(figures, "the same word in the other sentence", other.all())
    add_gaps(figures, program, model)


def lines_of(data, name):
    return (data / "enja" / name).read_text().splitlines()


def index_of(tokens, word):
    """Tokens of the one word between blanks; None where there is none, or more than one."""
    text, owners = "", []
    for i, token in enumerate(tokens):
        text += token["text"]
        owners += [i] * len(token["text"])
    found = [match.span(1) for match in re.finditer(r"(?:^|\s)(" + re.escape(word) + r")(?=\s|<|$)", text)]
    return sorted(set(owners[found[0][0]:found[0][1]])) if len(found) == 1 else None


def add_alignment(figures, program, model, pairs):
    hits = Means()
    for source, target in pairs:
        words = [(word, WORDS[word]) for word in source.split()
                 if word in WORDS and source.split().count(word) == 1 and target.split().count(WORDS[word]) == 1]
        if not words:
            continue
        answer, places = weights_of(program, source, "--target", target, "--stack", "cross", "--model", model)
        for english, japanese in words:
            written, read = index_of(answer["tokens"], japanese), index_of(answer["key_tokens"], english)
            if not written or not read:
                continue
            row = written[0] - 1  # which writes the word's first token
            hits.add(places, lambda rows, row=row, read=read: max(range(len(rows[row])), key=rows[row].__getitem__) in read)
    place = max(hits.all(), key=hits.all().get)
    figures.percent(f"cross-attention, head {place[0]}.{place[1]}: most weight on the word that is translated, {hits.rows} words",
                    hits.all()[place])


def add_bleu(figures, program, model, pairs):
    try:
        import sacrebleu
    except ImportError:
        figures.missing.append("no sacrebleu: BLEU and chrF are not measured")
        return
    wanted = [target for _, target in pairs]
    written = [json.loads(heed(program, "generate", source, "--model", model, "--beams", 4, "--json").stdout)["text"].strip()
               for source, _ in pairs]
    bleu = sacrebleu.corpus_bleu(written, [wanted], tokenize="none").score
    chrf = sacrebleu.corpus_chrf(written, [wanted]).score
    figures.add(f"BLEU of {len(pairs)} test sentences, 4 beams (words as the corpus cuts them)", bleu, f"{bleu:.2f}", 0.3)
    figures.add("chrF2 of the same", chrf, f"{chrf:.2f}", 0.3)


def measure_translator(figures, program, model, data, quick):
    if not (data / "enja").exists():
        figures.missing.append(f"no {data / 'enja'}: its translations are not measured")
        return
    pairs = list(zip(lines_of(data, "test.en"), lines_of(data, "test.ja")))
    if quick:
        figures.missing.append("--quick: BLEU and chrF are not measured")
    else:
        add_bleu(figures, program, model, pairs)
    add_alignment(figures, program, model, pairs)


MEASURES = {"lm": measure_decoder, "mlm": measure_encoder, "seq2seq": measure_translator}


def measured(program, model, data, quick):
    figures = Figures()
    config = next(model / name for name in ("train.json", "../run.json") if (model / name).exists())
    config = json.loads(config.read_text())
    add_validation(figures, program, model, config, data)
    MEASURES[config["task"]](figures, program, model, data, quick)
    return figures


def claimed(card):
    section = card.split("## Figures\n", 1)[1].split("\n## ")[0] if "## Figures\n" in card else ""
    return {name.strip(): float(value.strip().removesuffix("%"))
            for name, value in re.findall(r"^\| (.+?) \| (-?[\d.]+(?: %)?) \|$", section, re.M)}


def check(figures, card):
    """Each row of the card that could be measured; a row that is not there any more fails, too."""
    claims, failures = claimed(card), 0
    if not claims:
        sys.exit("the card has no table of figures")
    for name, value, text, tolerance in figures.rows:
        holds = name in claims and abs(claims[name] - value) <= tolerance
        failures += not holds
        print(f"{'holds' if holds else 'FAILS'}: {name}: {text}, the card says {claims.get(name, 'nothing')}")
    unknown = set(claims) - {row[0] for row in figures.rows}
    if unknown and not figures.missing:
        failures += 1
        print("FAILS: not measured: " + "; ".join(sorted(unknown)))
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("model", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--data", type=pathlib.Path, default=SHARED / "text", help="where the training texts lie")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quick", action="store_true", help="without the translations of all test sentences, which take a minute")
    options = parser.parse_args()
    if not options.model.exists():
        print(f"skipped: {options.model} is not there")
        sys.exit(SKIPPED)
    figures = measured(options.program, options.model, options.data, options.quick)
    for reason in figures.missing:
        print(reason, file=sys.stderr)
    if not options.check:
        print("| figure | |\n|---|---|")
        for name, _, text, _ in figures.rows:
            print(f"| {name} | {text} |")
        return
    sys.exit(1 if check(figures, (options.model / "card.md").read_text()) else SKIPPED if not figures.rows else 0)


if __name__ == "__main__":
    main()
