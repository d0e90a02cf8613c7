"""Programs that stand in for python and gh in a workflow: short shell scripts."""

# Answers for the program by FAKE_* variables and writes down what it was asked.
PYTHON = """#!/usr/bin/env bash
echo "python $*" >>"$CALLS"
case "$*" in
"-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
"-m pip "*) ;;
*--attn-confirm*) echo confirmed; exit "${FAKE_CONFIRM:-0}" ;;
"-m pytest "*)
    echo measured
    [[ $* == */out/base* ]] && exit "${FAKE_BASE:-0}"
    [[ ${FAKE_NO_RUN:-} ]] || echo tonight >"$STATE"
    exit "${FAKE_MEASURE:-0}" ;;
"-m harness show "*) printf '[{"run": "%s"}]' "$(cat "$STATE")" ;;
"-m harness doctor"*) echo "load: fine"; exit "${FAKE_DOCTOR:-0}" ;;
"-m harness history "*--markdown*) cat "$FAKE_MARKDOWN"; exit "${FAKE_HISTORY:-0}" ;;
"-m harness history "*--json*) cat "$FAKE_JSON"; exit "${FAKE_HISTORY:-0}" ;;
"-m harness compare "*--any-device*) echo "## listed"; exit "${FAKE_ANY:-0}" ;;
"-m harness compare "*) echo "## compared"; exit "${FAKE_COMPARE:-0}" ;;
"-m harness "* | *merge_runs.py*) ;;
*) exec "$REAL" "$@" ;;
esac
"""
# Keeps issues as files: NUMBER.open or NUMBER.closed, the title in the first line, then all text.
GH = """#!/usr/bin/env bash
set -euo pipefail
[[ -n $GH_TOKEN ]] || exit 4
echo "gh $*" >>"$CALLS"
text() { while (($#)); do [[ $1 == --body-file ]] && cat "$2"; shift; done; true; }
title() { while (($#)); do [[ $1 == --title ]] && echo "$2"; shift; done; true; }
cd "$ISSUES"
case "$1 $2" in
"issue list")
    for file in $(ls -r); do
        state=${file#*.}
        printf '%s\\t%s\\t%s\\n' "${file%.*}" "${state^^}" "$(head -n 1 "$file")"
    done ;;
"issue view") cat "$3".* ;;
"issue comment") text "$@" >>"$3".open ;;
"issue create") number=$(($(ls | wc -l) + 1)); { title "$@"; text "$@"; } >"$number.open" ;;
"label create") ;;
esac
"""
