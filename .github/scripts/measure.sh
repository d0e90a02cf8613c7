#!/usr/bin/env bash
# Measures ATTN_GRID into ATTN_RESULTS. A cell that disagrees does not end the night: it is in the
# run, and its status goes on as the output `measured`. Usage: measure.sh LOGS
# Environment: ATTN_RESULTS, ATTN_GRID (nightly), ATTN_DEVICE (auto); outputs: run, measured.
set -euo pipefail

logs=$1
: "${ATTN_RESULTS:?is not set}"
mkdir -p "$logs"

newest() { # The name of the newest run, nothing if there is none; results may lie behind a URL.
    python -m harness show --results "$ATTN_RESULTS" --json 2>/dev/null |
        python -c 'import json, sys; print(json.load(sys.stdin)[0]["run"])' 2>/dev/null || true
}

before=$(newest)
status=0
python -m pytest suites --benchmark-only --attn-grid "${ATTN_GRID:-nightly}" \
    --attn-device "${ATTN_DEVICE:-auto}" --attn-results "$ATTN_RESULTS" \
    --attn-reports "$logs/reports" 2>&1 | tee "$logs/measure.log" || status=$?
# 0: all agree; 1: a cell disagrees, crashes or hangs. Anything else measured nothing.
if ((status > 1)); then
    echo "::error title=Not measured::pytest ended with exit code $status" >&2
    exit "$status"
fi
run=$(newest)
if [[ -z $run || $run == "$before" ]]; then
    echo "::error title=Not measured::no new run in $ATTN_RESULTS" >&2
    exit 1
fi
{
    echo "run=$run"
    echo "measured=$status"
} >>"${GITHUB_OUTPUT:-/dev/stdout}"
