#!/usr/bin/env bash
# Compares what interleave.sh measured: all runs of the base as one with all of the head as one.
# Usage: compare.sh HEAD OUT, where HEAD/.venv has the program; environment: ATTN_FAIL_ON.
# Exit code 1 on a finding. Writes OUT/compare.md and OUT/compare.json.
set -euo pipefail

head=$(cd "$1" && pwd) out=$(cd "$2" && pwd)
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
python=$head/.venv/bin/python
fail_on=${ATTN_FAIL_ON:-slower,bigger,gone,broken}

cd "$head"
for side in base head; do
    "$python" "$here/merge_runs.py" "$out/$side" "$out/merged/$side"
done
compare() {
    "$python" -m harness compare "$out/merged/base" "$out/merged/head" --fail-on "$fail_on" "$@"
}
found=0
compare --markdown >"$out/compare.md" || found=$?
if ((found > 1)) && compare --any-device --markdown >"$out/compare.md"; then
    # Another torch is another machine: nothing of this is a regression of the change.
    echo "::warning title=No verdict::the change brings other versions, times are only listed" >&2
    exit 0
fi
compare --json >"$out/compare.json" || true
exit "$found"
