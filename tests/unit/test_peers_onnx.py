"""The models that onnxruntime-web gets: byte for byte what the onnx package (1.23) writes."""

from __future__ import annotations

import struct

from server import peers_onnx
from server.cases import Case

# onnx.helper.make_model(...).SerializeToString() of the same nodes, tensors and opsets.
GROUP_QUERY = (
    "0808120a7765626770752d6661323ade020aaa010a01710a016b0a01760a000a000a097365716c656e735f6b0a15746f"
    "74616c5f73657175656e63655f6c656e67746812016f120b70726573656e745f6b6579120d70726573656e745f76616c"
    "7565221347726f75705175657279417474656e74696f6e2a100a096e756d5f68656164731804a001022a130a0c6b765f"
    "6e756d5f68656164731802a001022a0f0a057363616c65150000003fa001013a0d636f6d2e6d6963726f736f66741209"
    "617474656e74696f6e2a190802100642097365716c656e735f6b4a082b0100002b0100002a21080110064215746f7461"
    "6c5f73657175656e63655f6c656e6774684a042c0100005a180a017112130a110801120d0a0208020a0308ac020a0208"
    "205a180a016b12130a110801120d0a0208020a0308ac020a0208105a180a017612130a110801120d0a0208020a0308ac"
    "020a02081062180a016f12130a110801120d0a0208020a0308ac020a02082042040a00101142110a0d636f6d2e6d6963"
    "726f736f66741001"
)
MULTI_HEAD_F16 = (
    "0808120a7765626770752d6661323ac3010a520a01710a016b0a017612016f22124d756c746948656164417474656e74"
    "696f6e2a100a096e756d5f68656164731802a001022a0f0a057363616c65150000803ea001013a0d636f6d2e6d696372"
    "6f736f66741209617474656e74696f6e5a170a017112120a10080a120c0a0208010a0208030a0208105a170a016b1212"
    "0a10080a120c0a0208010a0208050a0208105a170a017612120a10080a120c0a0208010a0208050a02081062170a016f"
    "12120a10080a120c0a0208010a0208030a02081042040a00101142110a0d636f6d2e6d6963726f736f66741001"
)


def test_a_causal_case_is_one_group_query_attention() -> None:
    case = Case.parse("forward:B=2,T=300,H=4,Hkv=2,D=8,scale=0.5")
    assert peers_onnx.attention(case).hex() == GROUP_QUERY


def test_a_case_without_a_mask_is_one_multi_head_attention_in_its_own_type() -> None:
    case = Case.parse("forward:Tq=3,Tk=5,H=2,D=8,causal=0,dtype=f16,scale=0.25")
    assert peers_onnx.attention(case).hex() == MULTI_HEAD_F16


def test_numbers_take_as_many_bytes_as_they_need() -> None:
    sizes = [len(peers_onnx.varint(n)) for n in (0, 127, 128, 16383, 16384, 2**31)]
    assert sizes == [1, 1, 2, 2, 3, 5]


def test_the_default_scale_is_the_float32_one() -> None:
    case = Case.parse("forward:T=4,D=3")
    assert struct.pack("<f", case.scale_f32) in peers_onnx.attention(case)
