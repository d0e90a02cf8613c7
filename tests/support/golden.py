"""Golden files: texts to compare with; ATTN_UPDATE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import os

from tests.support import ROOT

FOLDER = ROOT / "tests" / "report" / "golden"


def check(name: str, text: str) -> None:
    """Compare a text with its golden file, or write the file if asked to."""
    path = FOLDER / name
    if os.environ.get("ATTN_UPDATE_GOLDEN") == "1":
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"{path} is missing: set ATTN_UPDATE_GOLDEN=1 to write it"
    assert text == path.read_text(encoding="utf-8"), f"{name} changed; see ATTN_UPDATE_GOLDEN"
