"""The whole path in one object: server, browser, page, and the report on what a kernel did.

::

    with Harness() as h:
        report = h.run("forward:T=48,H=4,D=16")          # a Report, whatever the kernel did
        out = h.attention(q, k, v, H=4)                  # arrays, or an exception
        report = h.train("tiny", "drift")                # a TrainingReport

Nothing is installed on the way: without a browser NoBrowser says what to install.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike, NDArray

from server import arrays, own_kernel, shader_files
from server.bench import Bench
from server.bench_report import BenchReport
from server.benches import LEAST_SAMPLES
from server.cases import Case
from server.errors import BY_KIND, CompileError, HarnessError, PageError
from server.harness_life import Life
from server.own_given import Given
from server.paths import STATIC
from server.report import Report
from server.run import Run
from server.service import Serving
from server.tolerance import KAPPA
from server.trace import Trace, trace_of
from server.training import Training
from server.training_report import TrainingReport
from server.training_spec import TrainingSpec
from server.why import why


class Harness(Life):
    """One browser page that runs cases, one at a time; calls may come from any thread.

    ``browser``: a path, a program name or "firefox"; None finds an installed one.
    ``adapter``: "any", "hardware" or "software"; another one than asked for raises NoAdapter.
    ``timeout_s``: the time for a small case; the predicted work of a large one is added.
    ``launch``: "playwright" or "process"; None takes Playwright where it can.
    ``webgpu=False`` leaves the browser as it comes, without the switches that make WebGPU appear.
    ``without`` names WebGPU features that kernels must do without, "shader-f16" for example.
    ``history`` keeps the runs in the user's history (`fa2 history`): True, or a word that says who
    asked for them.
    ``page`` names a page that somebody opened on a running `fa2 serve`, at the URL ``server`` (this
    machine's port FA2_PORT or 8000 without one), in place of a browser that is started here; such a
    page runs and times cases, but does not train.

    Raises NoBrowser, NoAdapter, and CaseError for an argument that is none of these.
    """

    # --- running ---------------------------------------------------------------------------------

    def run(
        self,
        case: Case | str,
        *,
        kernel: str | None = None,
        seed: int | None = None,
        kappa: float | None = None,
        shaders: Mapping[str, str] | None = None,
        tuned: Mapping[str, Any] | None = None,
        trace: Mapping[str, int] | None = None,
        own: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Report:
        """Runs one case on the GPU and judges it.

        ``shaders`` replaces files of static/shaders for this run alone: ``{path: WGSL text}``;
        ``tuned`` gives tiles that are tried first, instead of those kept for the adapter; ``trace``
        names the tile whose state the kernel tells, for ``last_trace``; ``own`` is a kernel that is
        not ours, as ``own_kernel.read`` and ``own_kernel.checked`` give it.
        Returns a Report whatever the kernel did. Raises CaseError for a bad argument, NoBrowser
        and NoAdapter when no run is possible.
        """
        case = Case.parse(case) if isinstance(case, str) else case
        changes = {"kernel": kernel, "seed": seed}
        case = case.replace(**{key: value for key, value in changes.items() if value is not None})
        report, _ = self._run(
            case,
            kappa=kappa,
            shaders=shaders,
            tuned=tuned,
            trace=trace,
            own=own,
            timeout_s=timeout_s,
        )
        return report

    def check(
        self,
        kernel: str | Path,
        case: Case | str,
        *,
        manifest: str | Path | Mapping[str, Any] | None = None,
        seed: int | None = None,
        kappa: float | None = None,
        timeout_s: float | None = None,
    ) -> Report:
        """Runs one case on somebody's own kernel, the .wgsl file ``kernel``, and judges it.

        ``manifest``: a file or the manifest itself; None takes the .json beside the kernel, if
        there is one (docs/own-kernels.md). Raises ManifestError for what is wrong in it, and
        otherwise as ``run`` does; what only the page can see is a report of that kind.
        """
        own = own_kernel.read(Path(kernel), manifest)
        report = self.run(case, own=own, seed=seed, kappa=kappa, timeout_s=timeout_s)
        if isinstance(manifest, Mapping):  # no command line says that
            return report
        given = Given(Path(kernel), None if manifest is None else Path(manifest))
        return replace(report, message=given.named_again(report.message, own))

    def last_trace(self) -> Trace | None:
        """What the kernels told in the run before, beside the truth; None where they told nothing.

        That is so unless it was run with ``trace``, or its shaders call dbg().
        """
        words = self.last_told
        if words is None or self.last_report is None or self.last_done is None:
            return None
        case = Case.parse(self.last_report.case)
        return trace_of(case, words, self.last_done.traced, self.last_report.kappa)

    def why(self) -> str:
        """What the first wrong output of the run before looks like, "o looks as if …"; "" where
        nothing is known of it, or another server has judged it.
        """
        return "" if self._last_run is None else why(self._last_run)

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
    ) -> dict[str, NDArray[Any]]:
        """Attention of the caller's own arrays: q [B,Tq,H·D], k and v [B,Tk,Hkv·D].

        Returns float32 arrays ``o`` [B,Tq,H·D], ``lse`` [B,H,Tq] (natural log; −inf for a row that
        sees no key) and, with ``return_attn``, ``attn`` [B,H,Tq,Tk]. With ``dO``, the gradient of
        ``o`` and shaped as it, also the gradients ``dq`` [B,Tq,H·D], ``dk`` and ``dv``
        [B,Tk,Hkv·D]. If q, k, v (and dO) are all float16, they are stored so on the GPU, and o and
        the gradients come back as float16. Which other input types are taken stands in arrays.py.
        A result that exceeds its error bounds is returned too, with a RuntimeWarning that says
        where; ``last_report`` holds the verdict.

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

    def train(
        self,
        preset: str = "tiny",
        gate: str = "drift",
        *,
        attention: str = "fa2",
        seed: int = 0,
        steps: int | None = None,
        context: int | None = None,
        shaders: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        limit_s: float | None = None,
        watch: Callable[[Training], None] = lambda training: None,
    ) -> TrainingReport:
        """Trains a preset's model on the GPU and judges its losses by ``gate``: "drift" (beside
        NumPy), "overfit", or without judging them "bench" (timed after a warm-up) and "none".

        ``steps`` for the last two; ``context`` replaces the preset's T; ``timeout_s`` is for a step
        of a small model; a training that would take longer than ``limit_s`` by the adapter's
        measured speed is refused. ``watch`` is called a few times a second with the losses so far.
        Returns a report whatever happened. Raises CaseError, NoBrowser, NoAdapter.
        """
        shader_files.check(shaders or {}, STATIC)
        spec = TrainingSpec.of(
            preset, gate=gate, attention=attention, seed=seed, steps=steps, context=context
        )

        def submit(service: Serving, page: str) -> Training:
            return service.trainings.submit(
                spec,
                page=page,
                timeout_s=self.timeout_s if timeout_s is None else timeout_s,
                limit_s=limit_s,
                shaders=dict(shaders or {}),
            )

        with self._lock:
            training = self._started().do(submit, watch)
            watch(training)
            return training.future.result()

    def bench(
        self,
        case: Case | str,
        *,
        kernel: str | None = None,
        samples: int = LEAST_SAMPLES,
        kappa: float | None = None,
        shaders: Mapping[str, str] | None = None,
        tuned: Mapping[str, Any] | None = None,
        own: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        watch: Callable[[Bench], None] = lambda bench: None,
    ) -> BenchReport:
        """Judges one case on the GPU and, if it is right, times it there.

        ``samples``: at least 30, after a warm-up. ``tuned``: tiles that are tried first, as
        ``fa2 tune`` writes them, instead of those kept for the adapter. ``watch`` is called a few
        times a second.
        Returns a report whatever happened; a case that is not right is not timed. Raises CaseError,
        NoBrowser, NoAdapter.
        """
        case = Case.parse(case) if isinstance(case, str) else case
        case = case if kernel is None else case.replace(kernel=kernel)
        shader_files.check(shaders or {}, STATIC)

        def submit(service: Serving, page: str) -> Bench:
            return service.benches.submit(
                case,
                page=page,
                samples=samples,
                kappa=KAPPA if kappa is None else kappa,
                timeout_s=self.timeout_s if timeout_s is None else timeout_s,
                shaders=dict(shaders or {}),
                tuned=None if tuned is None else dict(tuned),
                own=None if own is None else dict(own),
            )

        with self._lock:
            bench = self._started().do(submit, watch)
            watch(bench)
            return bench.future.result()

    # --- inside ----------------------------------------------------------------------------------

    def _run(
        self,
        case: Case,
        *,
        kappa: float | None = None,
        shaders: Mapping[str, str] | None = None,
        tuned: Mapping[str, Any] | None = None,
        trace: Mapping[str, int] | None = None,
        own: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        inputs: dict[str, NDArray[Any]] | None = None,
    ) -> tuple[Report, Mapping[str, NDArray[Any]]]:
        shader_files.check(shaders or {}, STATIC)
        options: dict[str, Any] = {
            "kappa": KAPPA if kappa is None else kappa,
            "timeout_s": self.timeout_s if timeout_s is None else timeout_s,
            "inputs": inputs,
            "shaders": dict(shaders or {}),
            "tuned": None if tuned is None else dict(tuned),
        }
        if trace is not None:
            options["trace"] = dict(trace)
        if own is not None:
            options["own"] = dict(own)

        def submit(service: Serving, page: str) -> Run:
            return service.store.submit(case, page=page, **options)

        with self._lock:
            run = self._started().do(submit)
            self.last_report = report = run.future.result()
            self.last_outputs, self.last_done = run.tensors, run.done
            self.last_told, self._last_run = run.told, run
            return report, self.last_outputs


def _exception(report: Report) -> HarnessError:
    error = report.error
    if error is None:
        return PageError(report.message)
    if error.kind == CompileError.kind:
        return CompileError(
            error.message, file=error.file or "", line=error.line or 0, column=error.column or 0
        )
    return BY_KIND.get(error.kind, PageError)(error.message)
