"""Cases named on pytest's command line, a test each::

pytest --pyargs server.pytest_cases --fa2-case 'forward:T=48,H=4,D=16'
"""

from __future__ import annotations

from collections.abc import Callable

from server.cases import Case
from server.report import Report


def test_case(named_case: Case, fa2_run: Callable[..., Report]) -> None:
    """Fails, with the report's text, unless the case passes; a refused one fails."""
    fa2_run(named_case)
