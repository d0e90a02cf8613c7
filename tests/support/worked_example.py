"""Cases and inputs that several tests share: small shapes, and the article's worked example."""

from __future__ import annotations

import math
from typing import Any

import torch

from harness.attention.inputs import Inputs
from harness.cases.case import Case


def case_of(mask: str, rows: int, keys: int, **fields: Any) -> Case:
    """Return a small case; a window of 3 where the mask wants one."""
    fields = {
        "window": 3 if mask == "sliding-window" else None,
        "dim_key": 16,
        "dim_value": 16,
    } | fields
    return Case(length_query=rows, length_key=keys, mask=mask, **fields)


def worked_example(mask: str, dtype: str = "float64") -> Inputs:
    """Return q = [1, 2, 3], k = [0, ln 2, ln 3], v = [2, 4, 8], d = 1: scores q·k, scale 1."""
    case = Case.square(3, heads=1, dim=1, dtype=dtype, mask=mask)
    columns = ([1.0, 2.0, 3.0], [0.0, math.log(2), math.log(3)], [2.0, 4.0, 8.0])
    query, key, value = (
        torch.tensor(column, dtype=getattr(torch, dtype)).view(1, 1, 3, 1) for column in columns
    )
    return Inputs(case=case, query=query, key=key, value=value)
