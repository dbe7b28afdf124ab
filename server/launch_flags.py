"""The command line of a Chromium and the preferences of a Firefox, so that WebGPU is there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

Adapter = Literal["any", "hardware", "software"]
ADAPTERS: tuple[Adapter, ...] = ("any", "hardware", "software")

# Needed for a headless Chromium on an NVIDIA H200 under Linux; without any GPU these hang it.
HARDWARE_HINT = (
    "--ignore-gpu-blocklist",
    "--enable-features=Vulkan",
    "--use-angle=vulkan",
    "--disable-vulkan-surface",
)


def chromium_flags(*, webgpu: bool, adapter: Adapter, extra: Sequence[str]) -> list[str]:
    """What both launchers add to a Chromium's command line."""
    flags = [
        # Nothing leaves the machine, and nothing competes with the run for the CPU.
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-sync",
        "--no-pings",
        # A page in a hidden or covered window must not be slowed down.
        "--disable-background-timer-throttling",
        "--disable-backgrounding-occluded-windows",
        "--disable-renderer-backgrounding",
        # Containers give /dev/shm 64 MB; larger tensors would crash the renderer.
        "--disable-dev-shm-usage",
    ]
    if webgpu:
        # Without it Linux offers no adapter, software or not (measured with Chromium 156).
        flags.append("--enable-unsafe-webgpu")
        if adapter == "software":
            flags.append("--use-webgpu-adapter=swiftshader")
        # Nothing for "hardware": what helps on one machine (HARDWARE_HINT) hangs on another.
    if runs_as_root():
        flags.append("--no-sandbox")  # Chromium refuses to start as root otherwise
    return [*flags, *extra]


def runs_as_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def firefox_preferences(*, webgpu: bool) -> dict[str, bool | int | str]:
    """The user.js of a fresh profile: WebGPU on, nothing that talks to the network."""
    return {
        "dom.webgpu.enabled": webgpu,
        "dom.webgpu.workers.enabled": webgpu,
        "gfx.webgpu.ignore-blocklist": webgpu,
        # The console goes to stdout, where the launcher keeps its last lines.
        "devtools.console.stdout.content": True,
        "browser.shell.checkDefaultBrowser": False,
        "browser.startup.homepage_override.mstone": "ignore",
        "browser.aboutwelcome.enabled": False,
        "datareporting.policy.dataSubmissionEnabled": False,
        "datareporting.healthreport.uploadEnabled": False,
        "toolkit.telemetry.enabled": False,
        "toolkit.telemetry.unified": False,
        "app.update.enabled": False,
        "app.normandy.enabled": False,
        "extensions.update.enabled": False,
        "extensions.getAddons.cache.enabled": False,
        "browser.safebrowsing.malware.enabled": False,
        "browser.safebrowsing.phishing.enabled": False,
        "browser.safebrowsing.downloads.remote.enabled": False,
        "network.captive-portal-service.enabled": False,
        "network.connectivity-service.enabled": False,
        "network.dns.disablePrefetch": True,
        "network.prefetch-next": False,
        "services.settings.server": "data:,",
        "dom.push.connection.enabled": False,
        "browser.region.network.url": "",
        "browser.sessionstore.resume_from_crash": False,
        # A background page keeps its full timer rate.
        "dom.min_background_timeout_value": 4,
        "dom.timeout.enable_budget_timer_throttling": False,
    }
