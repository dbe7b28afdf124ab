"""Everything that the harness raises, as one tree.

::

    HarnessError                 message = value, rule and way out, in one paragraph
    ├─ CaseError                 the case string, or an argument, breaks the grammar
    │  └─ ManifestError          what is said of a kernel that is not ours does not fit its text
    ├─ ShapeError                arrays disagree with each other or with the arguments
    ├─ Unsupported               refused by name before anything ran
    ├─ NoBrowser                 no browser could be found or started
    ├─ NoAdapter                 the browser runs, but offers no WebGPU adapter
    ├─ CompileError              a shader does not compile: file, line, column
    ├─ DeviceLost                the GPU device, its process or the page went away
    ├─ Timeout                   a deadline passed
    ├─ HistoryError              the history of runs cannot be read or written
    └─ PageError                 the page failed in any other way

A wrong number is not an exception: it is a Report with the status ``fail``.
"""

from __future__ import annotations


class HarnessError(Exception):
    """Base of everything raised on purpose; ``kind`` is its stable name in JSON."""

    kind = "error"

    @property
    def message(self) -> str:
        return str(self)


class CaseError(HarnessError, ValueError):
    kind = "case"


class ManifestError(CaseError):
    kind = "manifest"


class ShapeError(HarnessError, ValueError):
    kind = "shape"


class Unsupported(HarnessError):
    kind = "unsupported"


class NoBrowser(HarnessError):
    kind = "no-browser"


class NoAdapter(HarnessError):
    """No WebGPU adapter, or not the kind that was asked for.

    ``step`` is the first step that failed: secure-context, navigator.gpu, adapter or device.
    """

    kind = "no-adapter"

    def __init__(self, message: str, *, step: str = "adapter") -> None:
        super().__init__(message)
        self.step = step


class CompileError(HarnessError):
    """A shader does not compile.

    ``line`` and ``column`` are 1-based and count in ``file`` as it lies on disk; 0 = unknown.
    """

    kind = "compile"

    def __init__(self, message: str, *, file: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.file, self.line, self.column = file, line, column


class DeviceLost(HarnessError):
    kind = "device-lost"


class Timeout(HarnessError, TimeoutError):
    kind = "timeout"


class HistoryError(HarnessError):
    """No run is lost by it."""

    kind = "history"


class PageError(HarnessError):
    kind = "page"


BY_KIND: dict[str, type[HarnessError]] = {
    c.kind: c
    for c in (
        CaseError,
        ManifestError,
        ShapeError,
        Unsupported,
        NoBrowser,
        NoAdapter,
        CompileError,
        DeviceLost,
        Timeout,
        PageError,
    )
}
