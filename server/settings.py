"""What the server can be told, by argument or by environment (``FA2_PORT=9000``).

Listening on anything but loopback is a decision, so it is two settings: a host and
``allow_remote``. With it comes a token, made here when none is given.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import DirectoryPath, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from server.certificates import check_pair
from server.history_place import path_or_off
from server.paths import STATIC
from server.tuned import tuned_folder

DEFAULT_PORT = 8000
# what a Host header may name; an IPv6 address with or without brackets
_HOST_NAME = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[?[0-9A-Fa-f:.]{2,45}\]?"
)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{32,256}")


class Settings(BaseSettings):
    """All settings; times in seconds, sizes in bytes.

    Raises ``pydantic.ValidationError`` (a ``ValueError``) for a host that is not loopback without
    ``allow_remote``, and for a token that could be guessed.
    """

    model_config = SettingsConfigDict(
        env_prefix="FA2_", extra="forbid", frozen=True, hide_input_in_errors=True
    )

    host: str = "127.0.0.1"
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65535)
    allow_remote: bool = False
    # more names that the Host header may carry; in the environment a list with commas
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    token: SecretStr | None = None  # demanded on every route when set
    tls_cert: Path | None = None  # PEM files: https in place of http
    tls_key: Path | None = None  # None: in the certificate's file
    static_dir: DirectoryPath = STATIC
    watch_shaders: bool = True  # pages are told when a file under static/shaders/ is saved
    tuned_dir: Path = Field(default_factory=tuned_folder)  # what `fa2 tune` has written
    history: Path | None = None  # the file in which finished runs are kept; 0 or off: nowhere
    origin: str = "page"  # who asks for the runs, for the history
    launched: dict[str, Any] = Field(default={})  # how the browser was started, for the history

    max_runs: int = Field(default=1024, ge=1)  # finished ones that are kept; the oldest goes first
    max_queued: int = Field(default=4096, ge=1)  # unfinished runs; one more is refused
    max_run_bytes: int = Field(default=2 << 30, ge=1)  # what one run may upload
    max_kept_bytes: int = Field(default=1 << 30, ge=0)  # tensors of finished runs
    max_text_bytes: int = Field(default=64 << 20, ge=0)  # edited and own texts of finished runs
    max_truth_bytes: int = Field(default=256 << 20, ge=0)  # truths of what somebody looks at
    max_npz_bytes: int = Field(default=1 << 30, ge=1)  # arrays of a run in one file
    max_pages: int = Field(default=64, ge=1)
    max_trainings: int = Field(default=64, ge=1)  # kept; the oldest finished one goes first
    max_queued_trainings: int = Field(default=16, ge=1)  # unfinished ones; one more is refused
    max_benches: int = Field(default=256, ge=1)  # kept; the oldest finished one goes first
    max_queued_benches: int = Field(default=64, ge=1)  # unfinished ones; one more is refused
    max_twin_bytes: int = Field(default=2 << 30, ge=0)  # memory for a training in NumPy

    base_deadline_s: float = Field(default=20.0, gt=0)  # for any run; the work is added to it
    flops_per_s: float = Field(default=1e9, gt=0)  # a software adapter on two cores
    training_limit_s: float = Field(default=300.0, gt=0)  # all steps, by the speed measured first
    bench_limit_s: float = Field(default=60.0, gt=0)  # the same for a benchmark
    deadline_grace_s: float = Field(default=5.0, ge=0)  # the page may report its own timeout first
    upload_s: float = Field(default=120.0, gt=0)  # for the body of one request
    page_lost_s: float = Field(default=5.0, gt=0)  # without a stream: its sent run is lost
    page_forget_s: float = Field(default=60.0, gt=0)  # without a stream: its queued runs are too
    ping_s: float = Field(default=3.0, gt=0, le=5)
    reap_s: float = Field(default=0.25, gt=0)  # how often deadlines are looked at

    @property
    def scheme(self) -> str:
        return "http" if self.tls_cert is None else "https"

    @property
    def address(self) -> str:
        """Where this machine is told to be; of all interfaces, by its name."""
        host = self.host
        if host in ("0.0.0.0", "::"):
            host = next(iter(self.allowed_hosts), socket.gethostname())
        shown = f"[{host}]" if ":" in host else host
        return f"{self.scheme}://{shown}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)

    @field_validator("host")
    @classmethod
    def _bare_host(cls, value: str) -> str:
        return value.strip().removeprefix("[").removesuffix("]")

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [name.strip() for name in value.split(",") if name.strip()]
        return value

    @field_validator("allowed_hosts")
    @classmethod
    def _bare_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not _HOST_NAME.fullmatch(name):
                raise ValueError(
                    f"{name[:80]!r} is no name of a host; write it as it stands in the address, "
                    "without https:// and port: desk.local"
                )
        return value

    @field_validator("history", mode="before")
    @classmethod
    def _path_or_off(cls, value: Any) -> Any:
        return path_or_off(value) if isinstance(value, str) else value

    @field_validator("token")
    @classmethod
    def _strong_token(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not _TOKEN.fullmatch(value.get_secret_value()):
            raise ValueError(
                "a token needs 32 to 256 characters of A-Z a-z 0-9 - _; "
                "leave it out and the server makes one"
            )
        return value

    @model_validator(mode="after")
    def _certificate_with_its_key(self) -> Self:
        check_pair(self.tls_cert, self.tls_key)
        return self

    @model_validator(mode="after")
    def _remote_is_a_decision(self) -> Self:
        if self.loopback:
            return self
        if not self.allow_remote:
            raise ValueError(
                f"host {self.host!r} can be reached from other machines; "
                "pass --allow-remote (FA2_ALLOW_REMOTE=1) to mean it, or use 127.0.0.1"
            )
        if self.token is None:
            # The model is frozen for everyone else; a validator may still complete it.
            object.__setattr__(self, "token", SecretStr(secrets.token_urlsafe(32)))
        return self


def is_loopback(host: str) -> bool:
    """True for ``localhost`` and for addresses of the loopback networks, nothing else."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
