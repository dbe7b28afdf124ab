"""The manifest of a kernel that is not ours: what its text does not say by itself.

`docs/own-kernels.md` explains every field by example; `fa2 check --schema` prints the JSON schema,
which `docs/own-kernel.schema.json` keeps for editors. What the text says (bindings, uniforms, entry
points) is read by the page; here only the manifest is held against itself.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
Member = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.\[\]]{0,99}$")]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}\.wgsl$")]
Expression = Annotated[
    Annotated[str, Field(pattern=r"^[A-Za-z0-9_+\-*/%(),. ]{1,200}$")]
    | int
    | Annotated[float, Field(allow_inf_nan=False)],
    Field(description="a number, or an expression of B, H, Hkv, Tq, Tk, T, D, BR, BC, constants …"),
]
Tensor = Literal[
    "q", "k", "v", "bias", "o", "lse", "attn", "do", "delta", "dq", "dk", "dv", "dbias"
]  # fmt: skip
Output = Literal["o", "lse", "attn", "dq", "dk", "dv", "dbias"]
TENSORS: tuple[str, ...] = Tensor.__args__  # type: ignore[attr-defined]
OUTPUTS = {
    "forward": ("o", "lse", "attn"),
    "backward": ("dq", "dk", "dv", "dbias"),
}


def _list(value: Any) -> Any:
    """One value stands for a list of it."""
    return value if isinstance(value, list) else [value]


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", populate_by_name=True)


class TypedConstant(Strict):
    """A constant whose WGSL type is not that of its value."""

    value: Expression
    type: Literal["u32", "i32", "f32", "f16", "bool"]


ConstantValue = bool | Expression | TypedConstant


class Scratch(Strict):
    """A buffer that passes hand on to one another."""

    bytes: Expression
    zero: bool = Field(
        default=False,
        description="filled with zeros before each call; else it holds NaN before the first pass "
        "of a check and large numbers before the second",
    )


class Tile(Strict):
    """Query rows and keys of a tile, for the words in which a failure is told."""

    Br: Expression
    Bc: Expression


class Pass(Strict):
    """One dispatch."""

    entry: Identifier | None = Field(
        default=None, description="entry point; the text's only one if left out"
    )
    grid: Annotated[list[Expression], Field(min_length=1, max_length=3)] | None = Field(
        default=None, description="workgroups in x, y, z"
    )
    file: FileName | None = Field(default=None, description="where the entry point stands")
    constants: dict[Identifier, ConstantValue] = Field(
        default={}, max_length=64, description="beside the manifest's, for this pass"
    )


class Supports(Strict):
    """Which cases the kernel takes; what is left out follows from what the kernel reads."""

    dtype: list[Literal["f32", "f16"]] | None = None
    causal: Annotated[list[bool], BeforeValidator(_list)] | None = None
    align: list[Literal["br", "tl"]] | None = Field(
        default=None, description="causal corners where Tq ≠ Tk"
    )
    layout: list[Literal["bthd", "bhtd", "packed"]] | None = None
    bias: list[Literal["tt", "htt", "bhtt", "b11t"]] | None = None
    cross: bool | None = Field(default=None, description="Tq ≠ Tk")
    grouped: bool | None = Field(default=None, description="Hkv < H")
    empty_rows: bool | None = Field(default=None, description="rows that see no key")
    window: bool | None = None
    softcap: bool | None = None
    max_D: Annotated[int, Field(ge=1)] | None = None  # noqa: N815 (the paper's names)
    max_T: Annotated[int, Field(ge=1)] | None = None  # noqa: N815
    D_multiple_of: Annotated[int, Field(ge=1)] | None = None
    T_multiple_of: Annotated[int, Field(ge=1)] | None = None


class Manifest(Strict):
    """What a kernel's text does not say by itself."""

    schema_: str | None = Field(default=None, alias="$schema", max_length=300)
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] | None = Field(
        default=None, description="in reports; the file's name if left out"
    )
    op: Literal["forward", "backward"] = "forward"
    file: FileName | None = Field(default=None, description="the kernel's text")
    entry: Identifier | None = Field(default=None, description="of a kernel of one pass")
    grid: Annotated[list[Expression], Field(min_length=1, max_length=3)] | None = Field(
        default=None, description="workgroups in x, y, z of a kernel of one pass"
    )
    passes: Annotated[list[Pass], Field(min_length=1, max_length=8)] | None = Field(
        default=None, description="dispatches in order, instead of entry and grid"
    )
    bindings: dict[Identifier, Identifier] = Field(
        default={}, max_length=64, description="WGSL variable → tensor or scratch buffer"
    )
    constants: dict[Identifier, ConstantValue] = Field(
        default={},
        max_length=64,
        description="values of overrides, and of constants that the text mentions and leaves open",
    )
    uniforms: dict[Member, Expression | list[Expression]] = Field(
        default={},
        max_length=128,
        description="member of a uniform → its value, of a vector a list",
    )
    scratch: dict[Identifier, Expression | Scratch] = Field(
        default={}, max_length=16, description="buffers between passes: their bytes"
    )
    tile: Tile | None = None
    outputs: Annotated[list[Output], Field(min_length=1)] | None = Field(
        default=None, description="what is judged; all that the case asks for if left out"
    )
    supports: Supports = Supports()
    forward: Manifest | None = Field(
        default=None, description="of a backward: whose o and lse it gets, instead of ours"
    )

    @model_validator(mode="after")
    def _fits_itself(self) -> Self:
        for field, reason in _contradictions(self):
            raise ValueError(f"{field}: {reason}")
        return self


_NO_GRID = (
    'how many workgroups run is not known from any text; for example ["ceil_div(Tq, 16)", "H", "B"]'
)


def _dispatches(m: Manifest) -> list[tuple[str, Manifest | Pass]]:
    if m.passes is None:
        return [("grid", m)]
    return [(f"passes[{n}].grid", one) for n, one in enumerate(m.passes)]


def _contradictions(m: Manifest) -> list[tuple[str, str]]:
    """(field, reason), first things first."""
    found = []
    if m.passes is not None:
        found += [(k, "a manifest with passes has it in each of them") for k in ("entry", "grid")
                  if getattr(m, k) is not None]  # fmt: skip
    found += [(field, _NO_GRID) for field, one in _dispatches(m) if one.grid is None]
    for name in m.scratch:
        if name in TENSORS:
            found.append((f"scratch.{name}", "this is the name of a tensor; call it otherwise"))
    for variable, target in m.bindings.items():
        if target not in TENSORS and target not in m.scratch:
            known = ", ".join((*TENSORS, *m.scratch))
            found.append(
                (
                    f"bindings.{variable}",
                    f"{target!r} is neither a tensor nor in scratch; use {known}",
                )
            )
    for output in m.outputs or ():
        if output not in OUTPUTS[m.op]:
            found.append(
                ("outputs", f"a {m.op} has no {output}; it has {', '.join(OUTPUTS[m.op])}")
            )
    if m.forward is not None and m.op == "forward":
        found.append(("forward", "only a backward is given the results of a forward"))
    if m.forward is not None and m.forward.op == "backward":
        found.append(("forward.op", "it is a backward; the manifest of a forward belongs here"))
    return found


def json_schema() -> dict[str, Any]:
    """For editors that complete and check JSON; what it cannot say, ``_contradictions`` says."""
    found = Manifest.model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Manifest of a WGSL attention kernel for fa2 check",
        **{key: value for key, value in found.items() if key != "title"},
    }
