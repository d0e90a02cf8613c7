#!/usr/bin/env bash
# Says a confirmed regression on GitHub once: a new issue, a comment on the open one if the findings
# are others than before, nothing if they were said already, also in a closed one.
# Usage: issue.sh BODY.md FINDINGS.json; environment: GH_TOKEN, GH_REPO, ATTN_WHERE, ATTN_RUN.
set -euo pipefail

body=$1 findings=$2
: "${GH_TOKEN:?is not set}" "${GH_REPO:?is not set}" "${ATTN_WHERE:?is not set}"
: "${ATTN_RUN:?is not set}"
label=benchmark-regression
title="Attention benchmarks: confirmed regression on $ATTN_WHERE"
here=${BASH_SOURCE[0]%/*}

mark="<!-- findings $(python3 "$here/findings.py" "$findings" | sha256sum | cut -c1-16) -->"
text=$(mktemp)
trap 'rm -f "$text"' EXIT
{
    printf '%s\n\nRun %s' "$mark" "$ATTN_RUN"
    [[ -n ${ATTN_URL:-} ]] && printf ', [log and artefacts](%s)' "$ATTN_URL"
    printf '\n\n'
    # GitHub takes 65,536 characters.
    "$here/limit.sh" 60000 "$body"
} >"$text"

# Newest first; titles are compared here, since a search on GitHub finds similar ones too.
listed=$(gh issue list --label "$label" --state all --limit 50 --json number,state,title \
    --jq '.[] | "\(.number)\t\(.state)\t\(.title)"')
open=
while IFS=$'\t' read -r number state name; do
    [[ $name == "$title" ]] || continue
    if gh issue view "$number" --json body,comments --jq '.body, .comments[].body' |
        grep -F -e "$mark" >/dev/null; then
        echo "said already in issue $number"
        exit 0
    fi
    [[ $state == OPEN && -z $open ]] && open=$number
done <<<"$listed"

if [[ -n $open ]]; then
    gh issue comment "$open" --body-file "$text"
else
    gh label create "$label" --force --color B60205 \
        --description "A confirmed slowdown, more memory, or a cell that broke"
    gh issue create --title "$title" --label "$label" --body-file "$text"
fi
