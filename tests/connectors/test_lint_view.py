"""The lint's findings as a user reads them."""

import io

from rich.console import Console

from pickysteve.connectors.lint_view import show_findings
from pickysteve.flows.lint import LintFinding


def finding(rule: str, path: str, fatal: bool = False, remedy: str = "write ten") -> LintFinding:
    return LintFinding(rule=rule, path=path, reason="has none", remedy=remedy, fatal=fatal)


def shown(findings: list[LintFinding], limit: int) -> str:
    out = io.StringIO()
    show_findings(findings, Console(file=out, width=80), limit)
    return out.getvalue()


def test_what_must_be_mended_is_shown_in_full_and_remarks_are_counted() -> None:
    fatal = [finding("gate-block", f"bad-{at}", fatal=True) for at in range(8)]
    text = shown([*fatal, *(finding("no-examples", f"skill-{at}") for at in range(475))], 5)
    assert text.startswith("8 to mend, 475 remarks")
    assert all(f"bad-{at}: has none" in text for at in range(8))
    assert "skill-4: has none" in text and "skill-5:" not in text
    assert "and 470 more: --all or --json shows them" in text


def test_a_remedy_of_all_is_told_once_and_each_of_several_beside_its_finding() -> None:
    assert shown([finding("no-examples", str(at)) for at in range(3)], 5).count("-> write ten") == 1
    several = [finding("near-duplicate", str(at), True, f"keep {at}") for at in range(3)]
    assert all(f"    -> keep {at}" in shown(several, 5) for at in range(3))


def test_a_path_cannot_write_to_the_terminal() -> None:
    text = shown([finding("no-examples", "evil\x1b[2J[red]")], 5)
    assert "\x1b" not in text and "[red]" in text
