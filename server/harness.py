"""The whole path in one object: server, browser, page, and the report on what a kernel did.

::

    with Harness() as h:
        report = h.run("forward:T=48,H=4,D=16")          # a Report, whatever the kernel did
        out = h.attention(q, k, v, H=4)                  # arrays, or an exception

Nothing is installed on the way: without a browser NoBrowser says what to install.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from server import arrays, browser
from server.cases import Case
from server.errors import BY_KIND, CaseError, CompileError, HarnessError, PageError
from server.launch import Launched, Options, choose_launcher
from server.launch_flags import ADAPTERS, Adapter
from server.paths import STATIC
from server.report import Report
from server.run import Run
from server.service import Service
from server.session import Opening, Session
from server.tolerance import KAPPA

POLL_S = 0.2
# Chromium offers no adapter any more after a few crashes of its GPU process: do not go that far.
LOSSES_PER_BROWSER = 2


class Harness:
    """One browser page that runs cases, one at a time; calls may come from any thread.

    ``browser``: a path, a program name or "firefox"; None finds an installed one.
    ``adapter``: "any", "hardware" or "software"; another one than asked for raises NoAdapter.
    ``timeout_s``: the time for a small case; the predicted work of a large one is added.
    ``launch``: "playwright" or "process"; None takes Playwright where it can.
    ``webgpu=False`` leaves the browser as it comes, without the switches that make WebGPU appear.

    Raises NoBrowser, NoAdapter, and CaseError for an argument that is none of these.
    """

    def __init__(
        self,
        browser: str | Path | None = None,
        adapter: Adapter = "any",
        timeout_s: float = 60.0,
        *,
        launch: str | None = None,
        headed: bool = False,
        browser_args: Sequence[str] = (),
        webgpu: bool = True,
    ) -> None:
        if adapter not in ADAPTERS:
            raise CaseError(f"adapter={adapter!r} is unknown; use one of {', '.join(ADAPTERS)}")
        if not 0 < timeout_s < float("inf"):
            raise CaseError(f"timeout_s={timeout_s!r} must be a positive number of seconds")
        self.timeout_s = timeout_s
        self._browser, self._launch = browser, launch
        self._options = Options(adapter, headed, tuple(browser_args), webgpu)
        self._lock = threading.RLock()
        self._service: Service | None = None
        self._opening: Opening | None = None
        self._session: Session | None = None
        self._losses = 0
        self._stale = False  # the browser must be opened anew before the next run
        self.last_report: Report | None = None
        self.current: Run | None = None  # under way; its `progress` says how far

    # --- life ------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Starts server, browser and page; ``with`` does it for you."""
        with self._lock:
            if self._service is None:
                found = browser.find(self._browser, headed=self._options.headed)
                launcher = choose_launcher(found, self._launch)
                self._opening = Opening(found, launcher, self._options)
                self._service = Service()
                atexit.register(self.close)
                try:
                    self._service.start()
                    self._session = Session(self._service, self._opening)
                except BaseException:
                    self.close()
                    raise
        return self

    def close(self) -> None:
        """Ends the browser with all its processes, then the server. Twice is fine."""
        atexit.unregister(self.close)
        session, self._session = self._session, None
        service, self._service = self._service, None
        try:
            if session is not None:
                session.close()
        finally:
            if service is not None:
                service.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- running ---------------------------------------------------------------------------------

    def run(
        self,
        case: Case | str,
        *,
        kernel: str | None = None,
        seed: int | None = None,
        kappa: float | None = None,
        shaders: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> Report:
        """Runs one case on the GPU and judges it.

        ``shaders`` replaces files of static/shaders for this run alone: ``{path: WGSL text}``.
        Returns a Report whatever the kernel did. Raises CaseError for a bad argument, NoBrowser
        and NoAdapter when no run is possible.
        """
        case = Case.parse(case) if isinstance(case, str) else case
        changes = {"kernel": kernel, "seed": seed}
        case = case.replace(**{key: value for key, value in changes.items() if value is not None})
        report, _ = self._run(case, kappa=kappa, shaders=shaders, timeout_s=timeout_s)
        return report

    def attention(
        self,
        q: ArrayLike,
        k: ArrayLike,
        v: ArrayLike,
        *,
        H: int,
        Hkv: int | None = None,
        causal: bool = True,
        align: str = "br",
        window: tuple[int, int] = (-1, -1),
        scale: float | None = None,
        softcap: float = 0.0,
        bias: ArrayLike | None = None,
        dO: ArrayLike | None = None,
        kernel: str = "auto",
        return_attn: bool = False,
    ) -> dict[str, NDArray[np.float32]]:
        """Attention of the caller's own arrays: q [B,Tq,H·D], k and v [B,Tk,Hkv·D].

        Returns float32 arrays ``o`` [B,Tq,H·D], ``lse`` [B,H,Tq] (natural log; −inf for a row that
        sees no key) and, with ``return_attn``, ``attn`` [B,H,Tq,Tk]. With ``dO``, the gradient of
        ``o`` and shaped as it, also the gradients ``dq`` [B,Tq,H·D], ``dk`` and ``dv``
        [B,Tk,Hkv·D]. Which input types are taken stands in arrays.py. A result that exceeds its
        error bounds is returned too, with a RuntimeWarning that says where; ``last_report`` holds
        the verdict.

        Raises ShapeError, CaseError, Unsupported, CompileError, DeviceLost, Timeout, PageError,
        NoBrowser, NoAdapter.
        """
        case, inputs = arrays.to_inputs(
            *(q, k, v),
            H=H,
            Hkv=Hkv,
            bias=bias,
            dO=dO,
            causal=causal,
            align=align,
            window=window,
            scale=scale,
            softcap=softcap,
            kernel=kernel,
            attn=return_attn,
        )
        report, tensors = self._run(case, inputs=inputs)
        if report.status in ("error", "skip"):
            raise _exception(report)
        if "o" not in tensors:
            raise PageError(f"{case}: the page sent no result; {report.message}")
        if report.status == "fail":
            warnings.warn(report.message, RuntimeWarning, stacklevel=2)
        return arrays.to_results(case, tensors)

    # --- what can be seen from outside -----------------------------------------------------------

    @property
    def environment(self) -> dict[str, Any]:
        """What the page found: ``{"adapter": {…, "fallback": bool}, "engine": "Chromium …"}``."""
        return self._session.environment if self._session else {}

    @property
    def launched(self) -> Launched | None:
        """The running browser; another one after a browser had to be replaced."""
        return self._session.launched if self._session else None

    @property
    def page_console(self) -> list[str]:
        """The last console lines of the page (of a plain process: what it printed)."""
        return self.launched.console if self.launched else []

    def screenshot(self, path: str | Path) -> bool:
        """Save a PNG of the page; False where the launcher cannot take one."""
        return self.launched is not None and self.launched.screenshot(Path(path))

    # --- inside ----------------------------------------------------------------------------------

    def _run(
        self,
        case: Case,
        *,
        kappa: float | None = None,
        shaders: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        inputs: dict[str, NDArray[Any]] | None = None,
    ) -> tuple[Report, dict[str, NDArray[Any]]]:
        _check_shaders(shaders or {})
        options: dict[str, Any] = {
            "kappa": KAPPA if kappa is None else kappa,
            "timeout_s": self.timeout_s if timeout_s is None else timeout_s,
            "inputs": inputs,
            "shaders": dict(shaders or {}),
        }
        with self._lock:
            run, report = self._once(case, options)
            if _kind(report) == "no-adapter" or (_kind(report) == "device-lost" and not run.heard):
                # Nothing has run: the browser offers no adapter after a crash, or had died
                # unnoticed before it took the job. A new one may try, once.
                self._stale = True
                run, report = self._once(case, options)
            return report, dict(run.tensors)

    def _once(self, case: Case, options: Mapping[str, Any]) -> tuple[Run, Report]:
        service, session = self._ready()
        self.current = run = service.store.submit(case, page=session.page, **options)
        self.last_report = report = self._result(service, run)
        self.current = None
        kind = _kind(report)
        self._losses += kind == "device-lost"
        # After a timeout the kernel may still occupy the GPU process, for ever.
        self._stale = kind in ("timeout", "no-adapter") or self._losses >= LOSSES_PER_BROWSER
        return run, report

    def _ready(self) -> tuple[Service, Session]:
        if self._service is None or self._opening is None:
            raise PageError("the harness is not started; use `with Harness() as h:` or h.start()")
        if self._session is not None and (self._stale or not self._session.usable):
            self._session.close()
            self._session = None
        if self._session is None:
            self._session = Session(self._service, self._opening)
            self._losses, self._stale = 0, False
        return self._service, self._session

    def _result(self, service: Service, run: Run) -> Report:
        """Waits in small steps: Ctrl+C is answered at once, and a dead browser is noticed."""
        while True:
            try:
                return run.future.result(POLL_S)
            except concurrent.futures.TimeoutError:
                if not service.running:
                    raise PageError("the server in this process ended during a run") from None
            except BaseException:
                service.store.cancel(run.id)
                raise


def _check_shaders(shaders: Mapping[str, str]) -> None:
    folder = (STATIC / "shaders").resolve()
    for name in shaders:
        path = (folder / name).resolve()
        if not (path.is_relative_to(folder) and path.is_file()):
            raise CaseError(f"shaders names {name!r}; it must be the path of a file in {folder}")


def _kind(report: Report) -> str | None:
    return report.error.kind if report.error else None


def _exception(report: Report) -> HarnessError:
    error = report.error
    if error is None:
        return PageError(report.message)
    if error.kind == CompileError.kind:
        return CompileError(
            error.message, file=error.file or "", line=error.line or 0, column=error.column or 0
        )
    return BY_KIND.get(error.kind, PageError)(error.message)
