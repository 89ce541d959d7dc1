# Ranks that are processes; sourced, with heed as the first argument.
# shellcheck shell=bash
set -euo pipefail
heed=$1

fail() {
  echo "$*" >&2
  exit 1
}

command -v mpirun >/dev/null || {
  echo "skipped: mpirun is not here"
  exit 77
}
ranks=(mpirun --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 -n)
together() { "${ranks[@]}" "$1" "$heed" "${@:2}"; } # N ARGS...: heed on N ranks
