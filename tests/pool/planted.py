"""Backends with faults planted in them, given to workers by --attn-extra-backend."""

import ctypes
import os
import time
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention


def honest(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)


def segfaults(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return ctypes.string_at(0)


def exits(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    os._exit(3)


def hangs(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    time.sleep(3600)


def raises(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    raise RuntimeError("the kernel is not built for this shape\nand a second line")


def wrong_mask(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return scaled_dot_product_attention(query, key, value, scale=scale)


def gives_nan(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return honest(query, key, value, mask, scale) * float("nan")


def out_of_memory(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return torch.empty(2**50)


def prints_much(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    print("x" * 1_000_000)
    return honest(query, key, value, mask, scale)
