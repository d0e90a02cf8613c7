"""Backends with faults planted in them, given to workers by --attn-extra-backend."""

import ctypes
import os
import threading
import time
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from harness.attention.backend import Backend


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


def wrong_shape(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return honest(query, key, value, mask, scale).transpose(1, 2)


def wrong_dtype(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return honest(query, key, value, mask, scale).double()


def wrong_values(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return honest(query, key, value, mask, 1.01 * scale)


def no_tensor(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return honest(query, key, value, mask, scale).tolist()


def aborts(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    os.abort()


def hangs_in_c(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    lock = ctypes.create_string_buffer(64)
    libc = ctypes.PyDLL(None)  # Holds Python's own lock as well: no Python code runs any more.
    libc.sem_init(lock, 0, 0)
    while True:
        libc.sem_wait(lock)


def takes_all_memory(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    kept = []
    while True:
        kept.append(torch.ones(2**24))


def takes_all_memory_in_python(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    kept = []
    while True:
        kept.append(bytearray(2**24))


KEPT: list[Any] = []


def leaks(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    KEPT.append(torch.ones(2**14))
    return honest(query, key, value, mask, scale)


def leaks_outside_torch(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    KEPT.append(ctypes.create_string_buffer(2**16))
    return honest(query, key, value, mask, scale)


def leaves_threads(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    threading.Thread(target=spin, name="spinner", daemon=True).start()
    return honest(query, key, value, mask, scale)


def spin() -> None:
    while True:
        time.sleep(0)


def changes_threads(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    torch.set_num_threads(2)
    return honest(query, key, value, mask, scale)


def changes_dtype(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    torch.set_default_dtype(torch.float64)
    return honest(query, key, value, mask, scale)


def changes_grad_mode(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    torch.set_grad_enabled(True)
    return honest(query, key, value, mask, scale)


def changes_random(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    torch.manual_seed(1)
    return honest(query, key, value, mask, scale)


def changes_flags_and_raises(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    torch.set_default_dtype(torch.float64)
    raise RuntimeError("not today")


def mutates(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    output = honest(query, key, value, mask, scale)
    query.mul_(scale)
    return output


def mutates_raw(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    output = honest(query, key, value, mask, scale)
    value.numpy()[:] += 1
    return output


FIRST: dict[Any, Any] = {}


def keeps_first_answer(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    name = (tuple(query.shape), mask is None)
    if name not in FIRST:
        FIRST[name] = honest(query, key, value, mask, scale)
    return FIRST[name]


CALLS: list[int] = [0]


def wrong_later(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    CALLS[0] += 1
    output = honest(query, key, value, mask, scale)
    return output if CALLS[0] < 8 else output * 1.5


def leaves_rows_out(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    """Compute those rows alone that are checked the first time."""
    from harness.attention.reference import checked_rows

    rows = checked_rows(query.shape[2])
    output = torch.zeros_like(query)
    output[:, :, rows] = honest(query[:, :, rows], key, value, None, scale)
    return output


class ComputesInPrepare(Backend):
    """Work outside the clock, and give the answer in it."""

    name = "computes-in-prepare"

    def prepare(self, case: Any, inputs: Any) -> Any:
        output = honest(inputs.query, inputs.key, inputs.value, inputs.keep(), inputs.scale)
        return lambda: output


computes_in_prepare = ComputesInPrepare


def dies_below_64(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    if query.shape[2] < 64:
        os.abort()
    return honest(query, key, value, mask, scale)


def moody(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    if os.environ.get("MOOD") == "bad":
        raise RuntimeError("not today")
    return honest(query, key, value, mask, scale)
