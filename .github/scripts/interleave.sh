#!/usr/bin/env bash
# Measures two checkouts in turns on this machine: A B, B A, A B, each time in new processes, so
# that a slow drift of the machine hits both alike. Each checkout has its environment in .venv.
# Usage: interleave.sh BASE HEAD OUT; environment: ATTN_ROUNDS (3), ATTN_GRID (compare.toml beside
# these scripts), ATTN_DEVICE (auto); output: comparable. A base that cannot be measured is said, and
# is no failure of the change; a head that cannot be is.
set -euo pipefail

base=$(cd "$1" && pwd) head=$(cd "$2" && pwd)
mkdir -p "$3"
out=$(cd "$3" && pwd)
# One grid for both, that of the change: `smoke` is too coarse to tell a tenth.
grid=${ATTN_GRID:-$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)/compare.toml}

measure() { # SIDE CHECKOUT
    echo "::group::$1"
    local status=0
    # Behaviours are exact, and the tests ask them: here they would only take time.
    (cd "$2" && .venv/bin/python -m pytest suites --ignore=suites/test_conformance.py \
        --benchmark-only --attn-grid "$grid" --attn-device "${ATTN_DEVICE:-auto}" \
        --attn-results "$out/$1" --attn-reports "$out/reports/$1") || status=$?
    echo "::endgroup::"
    # A cell that disagrees (1) is in the run, and the comparison tells whether it did before.
    ((status > 1)) || status=0
    return "$status"
}

say() { echo "comparable=$1" >>"${GITHUB_OUTPUT:-/dev/stdout}"; }

for ((round = 1; round <= ${ATTN_ROUNDS:-3}; round++)); do
    sides=("base $base" "head $head")
    ((round % 2)) || sides=("head $head" "base $base")
    for side in "${sides[@]}"; do
        if ! measure "${side%% *}" "${side#* }"; then
            [[ $side == base* ]] || exit 1
            echo "::warning title=No comparison::the base branch cannot be measured here" >&2
            echo "The base branch cannot be measured here: nothing to compare with." >"$out/compare.md"
            say false
            exit 0
        fi
    done
done
say true
