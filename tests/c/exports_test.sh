#!/usr/bin/env bash
# The shared library shows heed_* and nothing else, all that the headers declare, under its soname:
# exports_test.sh LIBRARY INCLUDE_FOLDER
set -euo pipefail
library=$1 include=$2
shown=$(nm -D --defined-only "$library" | awk '{print $NF}' | sort)
declared=$(grep -ohE 'HEED_API [a-z_ *]*heed_[a-z_]+\(|HEED_API .*[ *]heed_[a-z_]+\(' "$include"/heed/c.h |
  grep -oE 'heed_[a-z_]+\($' | tr -d '(' | sort)
if [[ $shown != "$declared" ]]; then
  diff <(echo "$declared") <(echo "$shown") || true
  echo "$library shows (>) something else than the headers declare (<)"
  exit 1
fi
readelf -d "$library" | grep -q 'SONAME.*\[libheed_c\.so\.0\]' || { echo "its soname is not libheed_c.so.0" && exit 1; }
echo "$(wc -l <<<"$shown") functions"
