#!/usr/bin/env bash
# Holds a run against its history: re-measures the candidates and their controls, then asks for the
# verdict. Usage: judge.sh LOGS; environment: ATTN_RESULTS, ATTN_RUN, ATTN_DEVICE (auto); output:
# finding (true or false). Writes history.md and history.json.
set -euo pipefail

logs=$1
: "${ATTN_RESULTS:?is not set}" "${ATTN_RUN:?is not set}"
mkdir -p "$logs"

status=0
python -m pytest suites --benchmark-only --attn-confirm "$ATTN_RUN" \
    --attn-device "${ATTN_DEVICE:-auto}" --attn-results "$ATTN_RESULTS" \
    --attn-reports "$logs/reports" 2>&1 | tee "$logs/confirm.log" || status=$?
# A cell may disagree again (1), and there may be no cell to measure again (5).
if ((status > 1 && status != 5)); then
    echo "::error title=Not confirmed::pytest ended with exit code $status" >&2
    exit "$status"
fi

history() { # FORM: exit code 1 is a finding. The second look has a run of its own: name the first.
    python -m harness history --results "$ATTN_RESULTS" --run "$ATTN_RUN" "$1"
}
found=0 again=0
history --markdown >"$logs/history.md" || found=$?
history --json >"$logs/history.json" || again=$?
if ((found > 1 || again != found)); then
    echo "::error title=No history::harness history ended with $found and $again" >&2
    exit $((found > 1 ? found : 1))
fi
finding=false
((found)) && finding=true
echo "finding=$finding" >>"${GITHUB_OUTPUT:-/dev/stdout}"
