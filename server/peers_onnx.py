"""ONNX models of a single attention node, written byte by byte: onnxruntime-web takes nothing else.

A model is a protocol buffer: fields of (number << 3 | wire type) and a value, where a value is a
varint (type 0), eight or four bytes (1, 5), or a length and so many bytes (2), messages among
them. Field numbers and types are those of onnx.proto (ONNX IR version 8). The operators are
onnxruntime's own, domain com.microsoft: GroupQueryAttention, which is always causal, and
MultiHeadAttention, which never is on WebGPU.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from server.cases import Case

IR_VERSION = 8
OPSET = 17
DOMAIN = "com.microsoft"
FLOAT, INT32, FLOAT16 = 1, 6, 10  # TensorProto.DataType


def varint(number: int) -> bytes:
    """
    >>> varint(1).hex(), varint(300).hex()
    ('01', 'ac02')
    """
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def number(field: int, value: int) -> bytes:
    """A field that is an integer, not negative.

    >>> number(1, 150).hex()
    '089601'
    """
    return varint(field << 3) + varint(value)


def real(field: int, value: float) -> bytes:
    """A field that is a float32."""
    return varint(field << 3 | 5) + struct.pack("<f", value)


def data(field: int, value: bytes | str) -> bytes:
    """A field that is a string, bytes or a message.

    >>> data(2, "testing").hex()
    '120774657374696e67'
    """
    content = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(content)) + content


def attribute(name: str, value: int | float) -> bytes:
    """An AttributeProto of type INT or FLOAT."""
    if isinstance(value, int):
        return data(1, name) + number(3, value) + number(20, 2)
    return data(1, name) + real(2, value) + number(20, 1)


def node(
    operator: str, inputs: Iterable[str], outputs: Iterable[str], attributes: dict[str, int | float]
) -> bytes:
    """A NodeProto; an input that is left out is called ""."""
    parts = [data(1, name) for name in inputs]
    parts += [data(2, name) for name in outputs]
    parts += [data(4, operator), *(data(5, attribute(*item)) for item in attributes.items())]
    return b"".join([*parts, data(7, DOMAIN)])


def value(name: str, kind: int, shape: Iterable[int]) -> bytes:
    """A ValueInfoProto: a tensor with its type and shape."""
    dims = b"".join(data(1, number(1, size)) for size in shape)
    return data(1, name) + data(2, data(1, number(1, kind) + data(2, dims)))


def ints(name: str, values: list[int], shape: Iterable[int]) -> bytes:
    """A TensorProto of int32, for an input that is always the same."""
    dims = b"".join(number(1, size) for size in shape)
    raw = struct.pack(f"<{len(values)}i", *values)
    return dims + number(2, INT32) + data(8, name) + data(9, raw)


def model(graph: bytes) -> bytes:
    """A ModelProto."""
    opsets = [data(1, "") + number(2, OPSET), data(1, DOMAIN) + number(2, 1)]
    parts = [number(1, IR_VERSION), data(2, "webgpu-fa2"), data(7, graph)]
    return b"".join([*parts, *(data(8, opset) for opset in opsets)])


def attention(case: Case) -> bytes:
    """The model that computes the case's ``o`` [B,Tq,H·D] from q and k, v [B,Tk,Hkv·D]."""
    kind = FLOAT16 if case.dtype == "f16" else FLOAT
    keys = (case.B, case.Tk, case.Hkv * case.D)
    rows = (case.B, case.Tq, case.H * case.D)
    scale = {"scale": float(case.scale_f32)}
    constants: list[bytes] = []
    if case.causal:
        # GroupQueryAttention is made for a cache: lengths are counted in keys that are there.
        lengths = ["", "", "seqlens_k", "total_sequence_length"]
        heads = {"num_heads": case.H, "kv_num_heads": case.Hkv}
        only = node(
            "GroupQueryAttention",
            ["q", "k", "v", *lengths],
            ["o", "present_key", "present_value"],
            {**heads, **scale},
        )
        constants = [
            ints("seqlens_k", [case.Tk - 1] * case.B, [case.B]),
            ints("total_sequence_length", [case.Tk], [1]),
        ]
    else:
        only = node("MultiHeadAttention", ["q", "k", "v"], ["o"], {"num_heads": case.H, **scale})
    tensors = [("q", rows), ("k", keys), ("v", keys)]
    parts = [data(1, only), data(2, "attention")]
    parts += [data(5, constant) for constant in constants]
    parts += [data(11, value(name, kind, shape)) for name, shape in tensors]
    return model(b"".join([*parts, data(12, value("o", kind, rows))]))
