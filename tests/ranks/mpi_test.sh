#!/usr/bin/env bash
# Ranks that are processes: mpi_test.sh HEED
# shellcheck source=tests/ranks/together.sh
source "$(dirname "${BASH_SOURCE[0]}")/together.sh"

for count in 2 3; do
  answer=$(together "$count" bench ring --tokens 600 --json)
  grep -q "\"ranks\": $count," <<<"$answer" || fail "$count ranks are not told: $answer"
  difference=$(sed -n 's/.*"largest_difference": \([0-9.e+-]*\).*/\1/p' <<<"$answer")
  awk -v found="$difference" 'BEGIN { exit !(found != "" && found + 0 < 1e-4) }' ||
    fail "$count ranks differ from one process by '$difference'"
done

# One rank's error is its line, and ends all.
if said=$(together 2 bench ring --tokens 3 2>&1); then fail "too few tokens pass"; fi
grep -q 'heed: rank [01] of 2: --tokens is 3, expected 4 or more' <<<"$said" || fail "unclear: $said"

# Without MPI's starter nothing of it is loaded.
if said=$("$heed" bench ring 2>&1); then fail "a ring of one process passes"; fi
grep -q 'ring is one process, expected several: mpirun -n 4 heed bench ring' <<<"$said" ||
  fail "unclear: $said"
