#!/usr/bin/env bash
# Training on ranks that are processes: train_test.sh HEED
# shellcheck source=tests/ranks/together.sh
source "$(dirname "${BASH_SOURCE[0]}")/together.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
for i in $(seq 400); do echo "after $((i % 97)) comes $(((i + 1) % 97))."; done >text.txt

shape=(--data text.txt --layers 2 --heads 2 --width 32 --block 32 --warmup 4 --dropout 0.1 --threads 1)
small=("${shape[@]}" --batch 6 --steps 40 --evaluate-every 10 --checkpoint-every 10)
losses() { cut -d, -f1-5 "$1/loss.csv"; }

# One process, two ranks and four: the same losses within rounding, and bit for bit each time.
"$heed" train "${small[@]}" -o one 2>/dev/null >/dev/null
for count in 2 4; do
  said=$(together "$count" train "${small[@]}" -o "on$count" 2>/dev/null)
  [[ $(wc -l <<<"$said") == 1 && $said == on$count/model* ]] || fail "not one line: $said"
  paste -d, one/loss.csv "on$count/loss.csv" | awk -F, -v n=0 '
    NR > 1 { d = $2 - $8; if (d < 0) d = -d; if (d > 1e-4 * $2) exit 1; n++ }
    END { exit !(n == 40) }' || fail "$count ranks differ from one process"
done
together 2 train "${small[@]}" -o again >/dev/null 2>&1
diff <(losses on2) <(losses again) >/dev/null || fail "two runs differ"

# Two runs into one folder.
if said=$(together 2 train "${small[@]}" -o on2 2>&1); then fail "a folder that holds a run is taken"; fi
[[ $(grep -c 'heed train: on2: holds a run already' <<<"$said") == 1 ]] || fail "unclear: $said"

# A rank that is killed ends the run; what was kept is whole, and the run goes on from there.
long=("${shape[@]}" --batch 6 --steps 100000 --checkpoint-every 5 --evaluate-every 100000)
wait_for() { # STEP: until a checkpoint of it or a later one is there
  while kill -0 "$run" 2>/dev/null; do
    for file in killed/checkpoint-*.safetensors; do
      file=${file#*-}
      [[ ${file%.safetensors} =~ ^[0-9]+$ ]] && ((${file%.safetensors} >= $1)) && return
    done
    sleep 0.05
  done
  fail "no checkpoint of step $1: $(cat said)"
}
"${ranks[@]}" 3 "$heed" train "${long[@]}" -o killed >/dev/null 2>said &
run=$!
wait_for 20
victim=$(pgrep -P "$run" | tail -n 1)
[[ -n $victim ]] || fail "no rank was found below $run"
kill -9 "$victim"
if wait "$run"; then fail "a run without one of its ranks ends well"; fi
grep -q 'heed train: another rank does not answer; last checkpoint: killed/checkpoint-' said ||
  fail "unclear: $(cat said)"
kept=$(sed -n 's/.*last checkpoint: killed.checkpoint-\([0-9]*\).*/\1/p' said)
"${ranks[@]}" 3 "$heed" train "${long[@]}" -o killed --resume >/dev/null 2>said &
run=$!
wait_for $((kept + 20))
kill -TERM "$run"
wait "$run" || true
grep -q "goes on after step $kept " said || fail "does not go on after $kept: $(cat said)"

# An error is one line, as of a process by itself.
if said=$(together 3 train "${shape[@]}" --batch 2 --steps 9 -o few 2>&1); then fail "too few rows pass"; fi
grep -q '^heed train: --batch is 2 sequences a step, expected at least 3, one for each rank$' <<<"$said" ||
  fail "unclear: $said"
[[ ! -e few ]] || fail "a refused run leaves a folder"
