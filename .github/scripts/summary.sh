#!/usr/bin/env bash
# Appends Markdown files to the summary of this step, which stays below 900 KiB with what it has.
# Usage: summary.sh FILE...; a file that is not there is passed over.
set -euo pipefail

most=$((900 * 1024))
: "${GITHUB_STEP_SUMMARY:?is not set}"
touch "$GITHUB_STEP_SUMMARY"
used=$(wc -c <"$GITHUB_STEP_SUMMARY")
"${BASH_SOURCE[0]%/*}/limit.sh" $((most - used)) "$@" >>"$GITHUB_STEP_SUMMARY"
