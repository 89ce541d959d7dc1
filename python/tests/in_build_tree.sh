#!/usr/bin/env bash
# The package's tests on the extension of the build tree: in_build_tree.sh ROOT BUILD [ARGS for pytest]
set -euo pipefail
root=$1
build=$2
shift 2
tools=$root/build/python-tools
if [[ -n ${HEED_PEERS:-} ]]; then tools=$root/build/python-peers; fi
extension=$(ls "$build"/python/_core*.so 2>/dev/null | head -n 1 || true)
if [[ -z $extension || ! -x $tools/bin/pytest ]]; then
  echo "skipped: Python's extension is not built in $build"
  exit 77
fi
site=$build/python-site
mkdir -p "$site/heed"
ln -sfn "$root"/python/heed/* "$extension" "$site/heed/" # replaces each at once: two runs may share the folder
find -L "$site" -type l -delete                          # of files that are no more
cd "$root/python/tests"
status=0
PYTHONPATH=$site PYTHONDONTWRITEBYTECODE=1 "$tools/bin/pytest" -q -m "not slow" "$@" || status=$?
if ((status == 5)); then  # pytest found no test to run
  echo "skipped: every file needs a library that is not installed"
  exit 77
fi
exit "$status"
