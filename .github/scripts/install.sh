#!/usr/bin/env bash
# Makes a virtual environment in FOLDER with the package that lies in SOURCE, and puts it on the
# PATH of the steps to come if this is GitHub. Usage: install.sh FOLDER [SOURCE]
set -euo pipefail

folder=$1 source=${2:-.}
python3 -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check -e "$source"
if [[ -n ${GITHUB_PATH:-} && $source == . ]]; then
    echo "$folder/bin" >>"$GITHUB_PATH"
fi
