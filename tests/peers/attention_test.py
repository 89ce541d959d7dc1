"""Compares `heed attend`, value and every gradient, with the formula in f64 and torch's autograd on
random problems: shapes, groups, extents, packing, masks, scores, types, and NaN where nothing may
be read.

Runs where torch is installed, else says why it does not. Usage:
    python tests/peers/attention_test.py build/release/heed [--count 2000] [--seed 1]
    python tests/peers/attention_test.py build/release/heed --problem 17 --files DIR
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import pathlib
import shlex
import subprocess
import sys
import tempfile
import warnings

from places import SKIPPED

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

from attention_bounds import allowed_errors
from attention_formula import evaluate
from attention_problems import random_problem

@dataclasses.dataclass
class Outcome:
    index: int
    types: str
    errors: dict  # by tensor: relative to its terms, and to what is allowed
    wrong: list
    command: list
    useful: bool = False


def command_of(program, problem, folder):
    """Writes the problem's files and gives the command line that runs it."""
    paths = {}
    for name, array in problem.files.items():
        paths[name] = folder / f"{name}.npy"
        if problem.rank < 4 and name in ("q", "k", "v", "dout", "dlse"):
            array = array.reshape(array.shape[4 - problem.rank:])
        np.save(paths[name], array)
    command = [program, "attend", paths["q"], paths["k"], paths["v"]]
    command += [argument.format(**paths) for argument in problem.arguments]
    command += ["-o", folder / "out.npy", "--grad", paths["dout"], "--grad-out", folder]
    if problem.normaliser == "softmax":
        command += ["--lse", folder / "lse.npy", "--dlse", paths["dlse"]]
    return [str(argument) for argument in command]


def read_results(problem, folder):
    names = ["out"] + ["d" + name for name in problem.types]
    names += ["lse"] if problem.normaliser == "softmax" else []
    return {name: np.load(folder / f"{name}.npy").astype(np.float64) for name in names}


def one(program, seed, index, files=None):
    """Runs one problem: its types, its worst error a tensor, and what is wrong with it."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NaN and infinity are rounded too
        folder = pathlib.Path(files or scratch)
        problem = random_problem(seed, index)
        types = f"{problem.dtype} {problem.kv_dtype}"
        command = command_of(program, problem, folder)
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode != 0:
            return Outcome(index, types, {}, [ran.stderr.strip()], command)
        found = read_results(problem, folder)
        wanted = evaluate(problem, problem.arrays, torch.float64)
        errors, wrong = {}, []
        for tensor in allowed_errors(problem, {name: wanted[name] for name in found}):
            error = tensor.error(found[tensor.name].reshape(tensor.wanted.shape))
            errors[tensor.name] = [
                max(error - tensor.lost, 0) / max(tensor.terms, 1e-300),
                error / max(tensor.most, 1e-300)]
            if not error <= tensor.most:
                wrong.append(f"{tensor.name}: error {error:.3g}, at most {tensor.most:.3g} allowed")
        return Outcome(index, types, errors, wrong, command, bool(wanted["out"].any()))


def table(outcomes):
    """The worst error a type and tensor, relative to the largest sum of absolute terms in the
    tensor, and in parts of what is allowed. 16 bit: root mean square, rounded inputs included."""
    names = ["out", "lse", "dq", "dk", "dv", "dbias", "dsink", "dslope", "dscale"]
    print("q   k, v  problems" + "".join(f"{name:>15}" for name in names))
    for types in sorted({outcome.types for outcome in outcomes}):
        of_types = [outcome.errors for outcome in outcomes if outcome.types == types]
        row = f"{types:<9} {len(of_types):>7}"
        for name in names:
            errors = [errors[name] for errors in of_types if name in errors]
            worst, share = (max(column) for column in zip(*errors)) if errors else (0, 0)
            row += f"{worst:>9.1e} {share * 100:>3.0f} %"
        print(row)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--problem", type=int, help="this one alone")
    parser.add_argument("--files", help="with --problem: leave its arrays here")
    return parser.parse_args()


def main():
    options = parsed()
    if options.problem is not None:
        if options.files:
            pathlib.Path(options.files).mkdir(parents=True, exist_ok=True)
        outcomes = [one(options.program, options.seed, options.problem, options.files)]
        print(shlex.join(outcomes[0].command))
    else:
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            work = functools.partial(one, options.program, options.seed)
            outcomes = list(pool.map(work, range(options.count), chunksize=8))
    table(outcomes)
    wrong = [outcome for outcome in outcomes if outcome.wrong]
    for outcome in wrong:
        print(f"\nproblem {outcome.index} ({outcome.types}): " + "; ".join(outcome.wrong))
        print(f"  python {__file__} {options.program} --seed {options.seed} "
              f"--problem {outcome.index} --files DIR")
    useful = sum(outcome.useful for outcome in outcomes)
    print(f"{len(outcomes)} problems, {useful} with an output that is not all zero, "
          f"{len(wrong)} wrong")
    sys.exit(1 if wrong or not outcomes else 0)


if __name__ == "__main__":
    main()
