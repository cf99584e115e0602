"""Values of the registry: what is said of them follows from what is in them."""

from pickysteve.registry.models import Finding, Verdict


def finding(rule: str, severity: str) -> Finding:
    return Finding.model_validate({"rule": rule, "severity": severity, "passage": "PASSAGE"})


def test_the_rules_that_block_are_named_once_each_and_without_their_passages() -> None:
    found = [finding("a", "block"), finding("b", "review"), finding("c", "block"), finding("a", "block")]
    verdict = Verdict(allowed=False, score=1, risk="block", findings=tuple(found), sha256="", fingerprint="")
    assert verdict.blocking_rules == ("a", "c")
