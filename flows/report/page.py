"""The page of a run: a template, its styles, and what the run's folder holds."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from pickysteve.errors import RunsUnwritable
from pickysteve.flows.report.view import suite_view
from pickysteve.flows.report.words import LABELS
from pickysteve.flows.trifecta_report import TrifectaReport, read_report

__all__ = ["PAGE_FILE", "render_page", "write_page"]

PAGE_FILE = "report.html"
TITLES = {
    "Passed": "No regression",
    "Regression": "Regression",
    "Incomparable": "Not comparable with the baseline",
}


def render_page(out: Path) -> str:
    """The page as HTML, everything in it, every text escaped; raises RunMissing."""
    report = read_report(out)
    # StrictUndefined: a misspelt name in the template is an error, not an empty cell
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(_resource("page.html"))
    return template.render(
        report=report,
        title=_title(report),
        suites=[suite_view(report, suite, out) for suite in report.suites],
        labels=LABELS,
        style=Markup(_resource("page.css")),  # noqa: S704
    )


def _title(report: TrifectaReport) -> str:
    compared = any(suite.comparison.state == "compared" for suite in report.suites)
    return TITLES[report.outcome] if compared or report.outcome != "Passed" else "Measured, no baseline yet"


def write_page(out: Path) -> Path:
    """Write the page into the run's folder; raises RunMissing or RunsUnwritable."""
    page = render_page(out)
    path = out / PAGE_FILE
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise RunsUnwritable(
            f'"{path}" cannot be written ({error.strerror}): mend its permissions.'
        ) from error
    return path.resolve()


def _resource(name: str) -> str:
    return (files("pickysteve.flows.report") / name).read_text(encoding="utf-8")
