#!/usr/bin/env bash
# Ends the night with an exit code that says what came of it.
# Environment: ATTN_MEASURED (0 or 1), ATTN_FINDING (true or false).
set -euo pipefail

code=0
if [[ ${ATTN_MEASURED:-} != 0 ]]; then
    echo "::error title=Wrong answers::a cell disagrees, crashes or hangs: see the report" >&2
    code=1
fi
if [[ ${ATTN_FINDING:-} != false ]]; then
    echo "::error title=Regression::confirmed against the history: see the summary" >&2
    code=1
fi
exit "$code"
