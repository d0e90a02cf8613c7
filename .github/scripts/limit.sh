#!/usr/bin/env bash
# Prints Markdown files one after another, whole lines only, at most BYTES in all and no images.
# GitHub refuses a step summary above 1 MiB and an issue above 65,536 characters as a whole, and
# shows no image that is not on a server. Usage: limit.sh BYTES FILE...
set -euo pipefail

limit=$1
shift
files=()
for file in "$@"; do
    [[ -s $file ]] && files+=("$file")
done
((${#files[@]})) || exit 0

# In the C locale awk counts bytes. 64 are kept for the fence and the line ends around the note.
LC_ALL=C awk -v limit="$limit" '
    BEGIN { note = "_Cut here: the whole text is in the artefacts of this run._" }
    FNR == 1 && NR > 1 { size += 1; print "" }
    {
        had = gsub(/!\[[^]]*\]\([^)]*\)/, "") + gsub(/<img[^>]*>/, "")
        if (had && $0 ~ /^[ |]*$/) next
        size += length($0) + 1
        if (size > limit - length(note) - 64) { cut = 1; exit }
        print
        if (/^```/) open = !open
    }
    END {
        if (cut && open) print "```"
        if (cut) { print ""; print note }
    }' "${files[@]}"
