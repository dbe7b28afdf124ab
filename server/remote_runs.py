"""Runs on a page of another server: submitted, followed and cancelled over HTTP."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from server import report, told_file, trace_buffer
from server.bench import Bench
from server.cases import Case
from server.errors import CaseError, HarnessError, PageError, Unsupported
from server.outputs import want
from server.remote import ANSWER_S, Refused, Remote
from server.remote_benches import RemoteBenches, refuse_tiles
from server.remote_follow import follow
from server.report import Done, Report
from server.report_read import read_report
from server.run import Arrays, Run, own_inputs
from server.training import Training
from server.uploads import content_digest

TOLD_S = 120.0  # for what kernels told: 16 MiB at most
WAIT_S = 1.0  # of one question for a verdict; progress is as old as that at most


class RemoteService:
    """Stands where ``Service`` stands, for a server that somebody else has started."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote
        self.store = RemoteRuns(remote)
        self.trainings = _Elsewhere("training")
        self.benches = RemoteBenches(remote)
        self.running = True  # a run on a server that has ended says so itself

    def start(self) -> None:
        """Somebody else has."""

    def stop(self) -> None:
        """That is somebody else's, too."""

    def cancel(self, task: Run | Training | Bench) -> None:
        with suppress(HarnessError):  # it may be over by now
            kind = "benches" if isinstance(task, Bench) else "runs"
            self.remote.post(f"/api/{kind}/{task.id}/cancel")


class RemoteRuns:
    """Stands where ``RunStore`` stands."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def submit(
        self,
        case: Case,
        *,
        page: str,
        kappa: float = 4.0,
        timeout_s: float | None = None,
        inputs: Arrays | None = None,
        tuned: dict[str, Any] | None = None,
        **more: Any,
    ) -> Run:
        """Asks for the run; its ``future`` holds the Report in the end, whatever happens.

        ``more``: what ``POST /api/runs`` takes under the same names (shaders, own, trace).
        Raises CaseError for what the server refuses, Unsupported for tiles, and Unreachable.
        """
        refuse_tiles(tuned)
        body = {
            "case": str(case),
            "page": page,
            "kappa": float(kappa),
            "timeout_s": timeout_s,
            **({"posted": True} if inputs is not None else {}),
            **{name: value for name, value in more.items() if value},
        }
        try:
            answer = self._remote.post("/api/runs", body)
        except Refused as refused:
            raise CaseError(refused.message) from None
        run = _RemoteRun(
            case=case,
            page=page,
            kappa=kappa,
            deadline_s=timeout_s or 0.0,
            want={spec.name: spec for spec in want(case)},
            id=answer["runs"][0],
            heard=True,  # no second try for a browser that nobody here can restart
            trace=more.get("trace"),
        )
        run.outputs = Outputs(self._remote, run.id, [name for name in run.want if "." not in name])
        if inputs is not None:
            run.seeded = False
            self._put_inputs(run, own_inputs(case, inputs))
        self._follow(run)
        return run

    def _put_inputs(self, run: Run, arrays: Mapping[str, np.ndarray]) -> None:
        for name, array in arrays.items():
            data = array.tobytes()
            headers = {
                "Content-Type": "application/octet-stream",
                "Content-Digest": content_digest(data),
            }
            self._remote.send("PUT", f"/api/runs/{run.id}/inputs/{name}", data, headers, 120.0)

    def _follow(self, run: Run) -> None:
        def look() -> bool:
            found = self._remote.get(f"/api/runs/{run.id}?wait={WAIT_S:g}", WAIT_S + ANSWER_S)
            if "status" in found:
                done = read_report(found)
                if done.told or run.trace is not None:
                    done = self._fetch_told(run, done)
                run.settle(done)
                return True
            run.state, run.progress = found["state"], found["progress"]
            return False

        def give_up(message: str) -> None:
            run.settle(
                report.failed_to_run(
                    run.case, "page", message, kappa=run.kappa, replayable=run.seeded
                )
            )

        follow(look, give_up)

    def _fetch_told(self, run: Run, done: Report) -> Report:
        """What its kernels told; nothing where the server no longer keeps it. The report, which
        warns of a file that cannot be read: the verdict holds without it.
        """
        spec = trace_buffer.spec_of(run.case, tiles=run.trace is not None)
        try:
            path = f"/api/runs/{run.id}/trace/told.npz"
            data = self._remote.send("GET", path, timeout_s=TOLD_S)
            run.told, traced = told_file.read(data, spec)
        except Refused:
            return done
        except PageError as error:
            return replace(done, warnings=(*done.warnings, error.message))
        run.done = Done(status="ok", kernel=done.kernel, passes=done.passes, traced=traced)
        return done


class Outputs(Mapping[str, np.ndarray]):
    """The outputs of a run, each fetched when somebody looks at it: a suite needs none of them."""

    def __init__(self, remote: Remote, run: str, names: Iterable[str]) -> None:
        self._remote, self._run = remote, run
        self._names = list(names)
        self._fetched: dict[str, np.ndarray | None] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self._names and name not in self._fetched:
            self._fetched[name] = self._fetch(name)
        found = self._fetched.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _fetch(self, name: str) -> np.ndarray | None:
        """None for what was not sent, or has been evicted."""
        try:
            data = self._remote.send("GET", f"/api/runs/{self._run}/tensors/{name}")
        except Refused:
            return None
        array: np.ndarray = np.load(io.BytesIO(data), allow_pickle=False)
        return array


class _RemoteRun(Run):
    """A run whose outputs are elsewhere."""

    outputs: Mapping[str, np.ndarray]

    def settle(self, report: Report) -> None:
        self.uploads, self.inputs, self.tensors = {}, None, self.outputs
        self.report, self.state = report, report.status
        self.future.set_result(report)


class _Elsewhere:
    """What a page of another server cannot be asked for."""

    def __init__(self, what: str) -> None:
        self._what = what

    def submit(self, *_: Any, **__: Any) -> NoReturn:
        raise Unsupported(
            f"{self._what} on a page of another server is not possible from here; leave --page "
            "out, or start it on the page itself"
        )

    def cancel(self, _: str) -> NoReturn:
        raise PageError(f"there is no {self._what} to cancel")
