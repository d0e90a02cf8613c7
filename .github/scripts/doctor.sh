#!/usr/bin/env bash
# Looks for what would spoil the numbers. With STRICT=true that ends the night: numbers of a shared
# GPU would stand in the history for a month. Else it is said and the night goes on.
# Usage: doctor.sh LOGS; environment: STRICT, ATTN_RESULTS.
set -euo pipefail

logs=$1
mkdir -p "$logs"
status=0
{
    echo '## What the doctor says'
    echo '```text'
    python -m harness doctor || status=$?
    echo '```'
} >"$logs/doctor.md"
cat "$logs/doctor.md"
((status)) || exit 0
if [[ ${STRICT:-false} == true || $status -gt 1 ]]; then
    echo "::error title=Doctor::ended with exit code $status: nothing was measured" >&2
    exit "$status"
fi
echo "::warning title=Doctor::something here would spoil numbers: see the summary" >&2
