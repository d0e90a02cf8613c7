#!/usr/bin/env bash
# Writes a run for other tools, and the pages over all runs. Usage: hand_on.sh OUT
# Environment: ATTN_RESULTS, ATTN_RUN.
set -euo pipefail

out=$1
: "${ATTN_RESULTS:?is not set}" "${ATTN_RUN:?is not set}"
mkdir -p "$out"
write() {
    python -m harness export "$ATTN_RUN" --results "$ATTN_RESULTS" --format "$1" --out "$out/$2"
}
write junit junit.xml
write json cells.json
write gha-benchmark gha-benchmark.json
write bencher bencher.json
python -m harness site "$ATTN_RESULTS" --out "$out/site"
# The run itself, to look at on another machine; one behind a URL can be had from there.
if [[ -d $ATTN_RESULTS/$ATTN_RUN ]]; then
    cp -R "$ATTN_RESULTS/$ATTN_RUN" "$out/$ATTN_RUN"
fi
