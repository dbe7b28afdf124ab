"""A wheel carries all that the product needs: page, library, shaders and templates."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from server.harness import Harness

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment that holds the wheel, and no other code of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("webgpu_fa2-*.whl")

    environment = folder / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    (site,) = environment.glob("lib/python*/site-packages")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install += ["--no-deps", "--ignore-installed", "--prefix", str(environment), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    # The dependencies are borrowed from this environment. A path named in a .pth file is only
    # appended to sys.path: the .pth files in it, the checkout's own among them, are not read.
    borrowed = Path(pytest.__file__).parents[1]
    (site / "borrowed.pth").write_text(str(borrowed), encoding="utf-8")
    return environment / "bin"


def test_a_wheel_runs_a_case_outside_the_checkout(
    installed: Path, tmp_path: Path, harness: Harness
) -> None:
    python = installed / "python"
    where = "import server.paths as p; print(p.STATIC, p.TEMPLATES)"
    found = subprocess.run(
        [python, "-c", where], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    environment = str(installed.parent)
    assert all(path.startswith(environment) for path in found.stdout.split()), found.stdout

    run = subprocess.run(
        [python, "-m", "server", "run", "forward:T=20,D=8,attn=1", "backward:T=20,D=8"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "ALL PASS" in run.stdout
