#!/usr/bin/env python3
"""Measures heed beside its peers, and writes docs/performance.md from what was measured.

    build/python-peers/bin/python tools/performance.py measure zen3 [--threads N] [--minutes M] [--case NAME ...]
                                                                    [--without PEER ...]
    build/python-peers/bin/python tools/performance.py write
    tools/performance.py check

`measure` runs `heed bench attention`, `backward` and `decode` of build/release with --peers and keeps each answer at once
in bench/results/NAME-tN.json, N threads. All cases take over an hour, mostly to compile FlexAttention for each (--without
flex). With --minutes it stops after so many: those come first that are not there yet, then those that were measured longest
ago. With --case it measures those cases alone. A case above 100 % of the peak is not kept: the peak was measured in a bad
moment. `write` makes the page and, with matplotlib, one roofline a file in docs/pictures. `check` fails where the page is
not what the files say; it needs Python alone.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEED = ROOT / "build/release/heed"
RESULTS = ROOT / "bench/results"
PAGE = ROOT / "docs/performance.md"
PASSES = ("attention", "backward", "decode")
TITLES = {"attention": "Forward", "backward": "Backward", "decode": "Decode, one token in one layer"}
PEERS = {"sdpa": "PyTorch", "flex": "FlexAttention", "ort": "onnxruntime", "unfused": "unfused"}


def names_of(what):
    """The cases of a benchmark: what the error of an unknown one lists."""
    told = subprocess.run([HEED, "bench", what, "--case", "?"], capture_output=True, text=True).stderr
    return told.split("expected one of ")[1].strip().split(", ")


def bench(what, threads, cases, without):
    """The JSON of each case as it comes."""
    command = [HEED, "bench", what, "--json", "--threads", str(threads), "--case", *cases]
    if what != "decode":
        command += ["--peers", sys.executable]
    environment = os.environ | {"HEED_BENCH_WITHOUT": ",".join(without)}
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        text = ""
        for line in running.stdout:
            text += line
            if line.startswith("}"):  # of a case; "[" and commas stand between them
                yield json.loads(text.strip().strip("[,"))
                text = ""
        if running.wait() != 0:
            raise subprocess.CalledProcessError(running.returncode, command)
    finally:
        running.terminate()
        running.wait()


def cpu_name():
    model = next(line for line in open("/proc/cpuinfo") if line.startswith("model name")).split(":")[1].strip()
    fields = {}
    for line in open("/proc/cpuinfo"):
        if ":" in line:
            key, value = line.split(":", 1)
            fields.setdefault(key.strip(), value.strip())
    return f"{model} (family {fields.get('cpu family', '?')}, model {fields.get('model', '?')})"


def measure(name, threads, minutes, cases, without):
    path = RESULTS / f"{name}-t{threads}.json"
    kept = json.loads(path.read_text()) if path.exists() else {"runs": {}}
    known = {what: names_of(what) for what in PASSES}
    rows = {(what, row["case"]): row for what in PASSES for row in kept["runs"].get(what, [])}
    rows = {place: row for place, row in rows.items() if place[1] in known[place[0]]}
    wanted = {what: [case for case in known[what] if not cases or case in cases] for what in PASSES}
    new = [(what, [case for case in wanted[what] if (what, case) not in rows]) for what in PASSES]
    old = [(what, sorted((case for case in wanted[what] if (what, case) in rows),
                         key=lambda case: rows[what, case]["measured"])) for what in PASSES]
    end = time.monotonic() + minutes * 60
    for what, names in new + old:
        for row in bench(what, threads, names, without) if names else ():
            print(f"{what} {row['case']}", file=sys.stderr)
            if row.get("fraction_of_peak", 0) <= 1:
                rows[what, row["case"]] = {**row, "measured": datetime.datetime.now().isoformat(timespec="seconds")}
            kept["runs"] = {each: [rows[each, case] for case in known[each] if (each, case) in rows] for each in PASSES}
            kept.update(cpu=cpu_name(), threads=threads)
            RESULTS.mkdir(exist_ok=True)
            path.write_text(json.dumps(kept, indent=1) + "\n")
            if time.monotonic() > end:
                return


def dates_of(runs):
    """ "2026-11-27", or the first and the last of several."""
    dates = sorted({row["measured"][:10] for rows in runs.values() for row in rows})
    return dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"


def time_of(seconds):
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def peers_of(rows):
    return sorted({name for row in rows for name in row.get("peers", {})})


def attention_table(rows):
    peers = peers_of(rows)
    lines = ["| case | time | spread | of FMA peak |" + "".join(f" {PEERS.get(peer, peer)} |" for peer in peers)]
    lines.append("|---|---|---|---|" + "---|" * len(peers))
    for row in rows:
        ratios = [row.get("peers", {}).get(peer) for peer in peers]
        cells = [f"{ratio['ratio']:.2f}" if ratio else "" for ratio in ratios]
        lines.append(f"| {row['case']} | {time_of(row['seconds'])} | {row['spread']:.0%} | "
                     f"{row['fraction_of_peak']:.0%} |" + "".join(f" {cell} |" for cell in cells))
    return lines


def decode_table(rows):
    lines = ["| case | time | spread | GB/s | of reading |", "|---|---|---|---|---|"]
    for row in rows:
        lines.append(f"| {row['case']} | {time_of(row['seconds'])} | {row['spread']:.0%} | {row['gbytes_per_second']:.1f} | "
                     f"{row['gbytes_per_second'] / row['read_gbytes_per_second']:.0%} |")
    return lines


def worst_ratios(runs):
    """How many pairs of a case and a peer there are, in how many heed is slower, and the three worst."""
    found = [(ratio["ratio"], what, row["case"], PEERS.get(peer, peer)) for what in ("attention", "backward")
             for row in runs.get(what, []) for peer, ratio in row.get("peers", {}).items()]
    if not found:
        return []
    slower = [one for one in found if one[0] < 1]
    median = statistics.median(one[0] for one in found)
    text = ", ".join(f"{case} {TITLES[what].lower()} beside {peer} {ratio:.2f}" for ratio, what, case, peer in sorted(found)[:3])
    return [f"{len(found)} pairs of a case and a peer: a peer takes {median:.2f} times as long in the median, and is faster in "
            f"{len(slower)}. The smallest ratios: {text}.", ""]


def page(files):
    lines = [
        "# Performance", "",
        "What `heed bench` measured, beside the peers in turns in the same minutes. A ratio is the peer's time over heed's: above 1 "
        "heed is faster. Times are medians; the spread is that of the middle half of the repetitions. *Of FMA peak* and *of reading* "
        "are shares of what this machine's multiply-adds and memory gave beside the same case. Peers: PyTorch's "
        "`scaled_dot_product_attention`, its compiled `flex_attention`, onnxruntime, and the unfused product, softmax, product in "
        "PyTorch, as far as each can compute a case.", "",
        "`tools/performance.py` writes this page from [bench/results](../bench/results): `measure` runs the benchmarks on your machine.", "",
    ]
    for path in files:
        kept = json.loads(path.read_text())
        lines += [f"## {kept['cpu']}, threads: {kept['threads']}", "", f"Measured on {dates_of(kept['runs'])}.", ""]
        if (ROOT / f"docs/pictures/roofline-{path.stem}.svg").exists():
            lines += [f"![Work done in a second over work for each byte of memory](pictures/roofline-{path.stem}.svg)", ""]
        lines += worst_ratios(kept["runs"])
        for what in PASSES:
            rows = kept["runs"].get(what)
            if rows:
                lines += [f"### {TITLES[what]}", "", *(decode_table(rows) if what == "decode" else attention_table(rows)), ""]
    return "\n".join(lines).rstrip() + "\n"


def roofline(path):
    """GFLOP/s over FLOP a byte, below what arithmetic and memory allow."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "heed", "font.family": "sans-serif", "font.size": 9})
    kept = json.loads(path.read_text())
    rows = [(what, row) for what in ("attention", "backward") for row in kept["runs"].get(what, [])]
    peak = statistics.median(row["peak_gflops"] for _, row in rows)
    read = statistics.median(row["read_gbytes_per_second"] for _, row in rows)
    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    ends = [row["gflops"] / row["gbytes_per_second"] for _, row in rows]
    left, right = min(ends) / 1.5, max(ends) * 1.5
    edge = peak / read
    axes.plot([left, max(edge, left), right], [min(left * read, peak), peak, peak], color="0.35", lw=1.2)
    axes.annotate(f"multiply-adds: {peak:.0f} GFLOP/s", (right, peak), ha="right", va="bottom", color="0.35")
    for what, colour in (("attention", "#1b6ca8"), ("backward", "#c2571a")):
        points = [(row["gflops"] / row["gbytes_per_second"], row["gflops"]) for name, row in rows if name == what]
        if points:
            axes.plot(*zip(*points), ".", color=colour, ms=5, label=TITLES[what].lower())
    axes.set(xscale="log", yscale="log", xlabel="FLOP for each byte of q, k, v and out", ylabel="GFLOP/s", xlim=(left, right))
    axes.grid(color="0.92")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    figure.tight_layout()
    figure.savefig(ROOT / f"docs/pictures/roofline-{path.stem}.svg", metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("measure", "write", "check"))
    parser.add_argument("name", nargs="?", help="measure: what the CPU is called in the file's name")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--case", nargs="+", default=[])
    parser.add_argument("--without", nargs="+", default=[], choices=PEERS, help="measure: peers to leave out")
    asked = parser.parse_args()
    if asked.verb == "measure":
        if not asked.name:
            parser.error("measure needs a name for the CPU, such as zen3")
        return measure(asked.name, asked.threads, asked.minutes, asked.case, asked.without)
    files = sorted(RESULTS.glob("*.json"))
    if asked.verb == "write":
        for path in files:
            roofline(path)
        PAGE.write_text(page(files))
    elif PAGE.read_text() != page(files):
        sys.exit("docs/performance.md is not what bench/results says: run tools/performance.py write")


if __name__ == "__main__":
    main()
