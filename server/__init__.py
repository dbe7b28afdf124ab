"""webgpu-fa2: FlashAttention-2 in WGSL, and the harness that proves it right."""

__version__ = "0.1.0"
