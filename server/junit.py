"""Results as a JUnit XML file, in the form that pytest calls xunit2: one test case a case."""

from __future__ import annotations

import datetime
import platform
import re
from pathlib import Path
from xml.etree import ElementTree as ET

from server.atomic import write_text
from server.report import Report
from server.results import Results

# What XML 1.0 cannot hold, not even escaped; shader messages may quote any text.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(results: Results, path: Path) -> None:
    write_text(path, to_xml(results))


def to_xml(results: Results) -> str:
    """A whole document; a vacuous case counts as a failure."""
    counts = results.counts
    attributes = {
        "name": "fa2",
        "tests": str(len(results.entries)),
        "failures": str(counts["fail"] + counts["vacuous"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skip"]),
        "time": f"{results.seconds:.3f}",
    }
    root = ET.Element("testsuites")
    suite = ET.SubElement(
        root,
        "testsuite",
        attributes
        | {
            "timestamp": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "hostname": _legal(platform.node()),
        },
    )
    for report in results.reports:
        _add(suite, report)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _add(suite: ET.Element, report: Report) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname="fa2",
        name=_legal(report.case),
        time=f"{(report.elapsed_ns or 0) / 1e9:.3f}",
    )
    tag = {"fail": "failure", "vacuous": "failure", "error": "error", "skip": "skipped"}
    if report.status in tag:
        first = report.message.partition("\n")[0]
        node = ET.SubElement(case, tag[report.status], message=_legal(first), type=report.status)
        node.text = _legal(report.message)
    told = [("kernel", report.kernel), ("engine", report.engine), ("shader", report.shader_sha256)]
    told += [
        (f"{name} |error|/allowed", f"{o.worst_ratio:.6g}") for name, o in report.outputs.items()
    ]
    # Not <properties>: the xunit2 schema has none in a test case.
    output = "".join(f"{name}: {value}\n" for name, value in told if value)
    ET.SubElement(case, "system-out").text = _legal(output)


def _legal(text: str) -> str:
    """Characters that no XML may hold become their escapes in Python's writing."""
    return _ILLEGAL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
