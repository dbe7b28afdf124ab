"""What a page has said of its WebGPU adapter: in a few words, and whether it is the one wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from server.errors import NoAdapter
from server.launch_flags import HARDWARE_HINT, Adapter


def adapter_name(adapter: Mapping[str, Any] | None) -> str:
    """An adapter in a few words: what is known of it, and whether it computes on the CPU."""
    if not adapter:
        return "no adapter"
    words = [adapter.get(key) for key in ("vendor", "architecture", "device", "description")]
    name = " ".join(dict.fromkeys(word for word in words if word)) or "unnamed adapter"
    return f"{name} (software)" if adapter.get("fallback") else name


def check_adapter(
    environment: Mapping[str, Any], wanted: Adapter, where: str, *, flags: bool = True
) -> None:
    """Raises NoAdapter if the page has none, or not the kind that is wanted.

    ``where`` names the browser; ``flags``: it is started here, and switches may help it.
    """
    if not environment.get("ok"):
        raise NoAdapter(
            environment.get("message") or f"{where} offers no WebGPU adapter",
            step=environment.get("step") or "adapter",
        )
    adapter = environment.get("adapter") or {}
    kind = "software" if adapter.get("fallback") else "hardware"
    if wanted not in ("any", kind):
        hint = " ".join(f"--browser-arg={flag}" for flag in HARDWARE_HINT)
        way = f"; with a GPU under Linux, try {hint}" if flags and wanted == "hardware" else ""
        raise NoAdapter(
            f"--adapter {wanted} was asked for, but {where} offers the {kind} adapter "
            f"{adapter_name(adapter)}; use --adapter {kind} or any, or another browser{way}"
        )
