import pytest

from harness.measure.memory import kernel_of, matches

SDPA = "aten::scaled_dot_product_attention"
CASES = [
    (
        [SDPA, "aten::_scaled_dot_product_flash_attention_for_cpu", "aten::empty"],
        "_scaled_dot_product_flash_attention_for_cpu",
    ),
    (
        [SDPA, "aten::_scaled_dot_product_attention_math", "aten::matmul", "aten::_softmax"],
        "_scaled_dot_product_attention_math",
    ),
    (
        [
            "aten::_scaled_dot_product_flash_attention",
            "aten::_flash_attention_forward",
            "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>, false>(int)",
        ],
        "pytorch_flash::flash_fwd_kernel",
    ),
    (
        ["void flash::flash_fwd_splitkv_kernel<Traits<64>, true>(flash::Params)"],
        "flash::flash_fwd_splitkv_kernel",
    ),
    (
        ["void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<A>>>(B)"],
        "flash::FlashAttnFwdSm90",
    ),
    (
        [
            "aten::_efficient_attention_forward",
            "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)",
        ],
        "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
    ),
    (
        [
            "aten::_scaled_dot_product_cudnn_attention",
            "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128",
        ],
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128",
    ),
    (["triton_tem_fused_flex_attention_0", "ampere_sgemm"], "triton_tem_fused_flex_attention_0"),
    (["Torch-Compiled Region: 0/0", "## Call CompiledFxGraph fabc ##"], "CompiledFxGraph"),
    (["aten::mul", "aten::matmul", "aten::bmm", "aten::_softmax"], "aten::softmax+matmul"),
    (["aten::exp", "aten::bmm", "aten::sum"], "aten::exp+matmul"),
    (["aten::add", "aten::expand"], None),
    ([], None),
]


@pytest.mark.parametrize(("names", "kernel"), CASES)
def test_the_most_telling_name_wins(names: list[str], kernel: str | None) -> None:
    assert kernel_of(names) == kernel
    assert kernel_of(reversed(names)) == kernel


def test_of_forward_and_backward_the_first_seen_names_the_cell() -> None:
    names = [
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
    ]
    assert kernel_of(names) == names[0].removeprefix("aten::")


def test_a_pin_is_searched_in_kernel_and_names() -> None:
    assert matches("flash", ["aten::_scaled_dot_product_flash_attention_for_cpu"])
    assert matches(r"fmha_cutlassF", [], kernel="fmha_cutlassF_f32")
    assert not matches("flash", ["aten::_scaled_dot_product_attention_math"])
    assert not matches("flash", [])
