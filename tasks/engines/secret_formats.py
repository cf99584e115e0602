"""What a secret looks like: the formats that issuers publish, and values under a secret's name.

The formats are facts from the issuers' own documentation, as named beside each; a library was tried and
not taken: detect-secrets (1.5.0, of 2024) knows neither Anthropic's nor Google's nor today's OpenAI
keys, reads whole lines only, and imports an HTTP client.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = [
    "FORMATS",
    "NAME",
    "NAME_SUFFIX",
    "SHORTEST",
    "Span",
    "find_secrets",
    "is_placeholder",
    "looks_random",
]


class Span(NamedTuple):
    """A secret in a text, half-open, and its kind."""

    start: int
    end: int
    kind: str


class Format(NamedTuple):
    """A published format: what it is, how it is written, and who says so."""

    kind: str
    pattern: str
    source: str
    checked: bool = False
    """Identifiers have this form too: what it matches has to look random."""


JOSE = r"[\w-]{8,4000}"
JWT = rf"(?<![\w-])eyJ{JOSE}\.(?:eyJ{JOSE}\.{JOSE}|[\w-]{{0,999}}\.{JOSE}\.{JOSE}\.{JOSE})"
FORMATS = (
    Format("AWS key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])", "AWS IAM, unique identifiers"),
    Format("GitHub token", r"gh[pousr]_\w{36,99}|github_pat_\w{40,99}", "GitHub, token formats"),
    Format("GitLab token", r"gl(?:pat|dt|rt|cbt|ptt)-[\w-]{20,99}", "GitLab, token overview"),
    Format("Anthropic key", r"sk-ant-[a-z]{3,8}\d\d-[\w-]{20,199}", "Anthropic, API and admin keys"),
    Format("API key", r"sk-[\w-]{20,199}", "OpenAI: sk-, sk-proj-, sk-svcacct-, sk-admin-", checked=True),
    Format("Google key", r"AIza[\w-]{35}(?![\w-])", "Google Cloud, API keys"),
    Format("Google token", r"ya29\.[\w-]{20,199}|GOCSPX-[\w-]{28}", "Google, OAuth 2.0"),
    Format("Slack token", r"xox[abceoprs]-\d[\w-]{15,199}|xapp-\d-[\w-]{16,199}", "Slack, token types"),
    Format("Slack webhook", r"hooks\.slack\.com/[a-z]{8,9}/[\w/]{30,99}", "Slack, incoming webhooks"),
    Format("Stripe key", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,199}", "Stripe, API keys"),
    Format("Stripe key", r"whsec_[A-Za-z0-9+/]{24,99}", "Stripe, webhook signatures"),
    Format("JSON web token", JWT, "RFC 7519 and RFC 7516"),
    Format("npm token", r"npm_[A-Za-z0-9]{36}", "npm, access tokens"),
    Format("PyPI token", r"pypi-AgE[\w-]{50,199}", "PyPI, API tokens"),
    Format("Hugging Face token", r"hf_[A-Za-z0-9]{30,99}", "Hugging Face, user access tokens"),
    Format("SendGrid key", r"SG\.[\w-]{16,32}\.[\w-]{16,64}", "SendGrid, API keys"),
    Format("Twilio key", r"SK[0-9a-f]{32}(?![0-9A-Za-z])", "Twilio, API keys"),
    Format("DigitalOcean token", r"do[opr]_v1_[0-9a-f]{64}", "DigitalOcean, tokens"),
    Format("Telegram token", r"\d{8,10}:AA[\w-]{33}(?![\w-])", "Telegram, bot API"),
    Format("Vault token", r"hv[sbr]\.[\w-]{24,199}", "HashiCorp Vault, tokens", checked=True),
    Format("age key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}", "age, format"),
    Format("API key", r"(?:gsk_|xai-|pplx-|r8_)[A-Za-z0-9]{30,199}", "Groq, xAI, Perplexity, Replicate"),
    Format(
        "API key",
        r"(?:lin_api_|ntn_|dapi|shp(?:at|ca|pa|ss)_)[A-Za-z0-9]{30,199}",
        "Linear, Notion, Databricks, Shopify",
    ),
)
KNOWN = re.compile(
    r"(?<![A-Za-z0-9])(?:" + "|".join(f"(?P<f{at}>{f.pattern})" for at, f in enumerate(FORMATS)) + ")",
    re.ASCII,
)
REST = re.compile(r"[\w-]*", re.ASCII)
"""Patterns are bounded, to be linear on floods; what goes on behind one belongs to it."""

SHORTEST = 16
"""No secret of a known format is shorter."""

# Names that say that their value is secret; "key" alone says nothing (of a cache, a row, a public one).
NAME = (
    r"(?:(?:api|access|account|private|secret|auth|encryption|signing|master|service|subscription)[_-]?key"
    r"|secret|token|passw(?:or)?d|passphrase|pwd|credentials?)"
)
NAME_SUFFIX = r"(?:_[A-Za-z0-9]{1,12}){0,2}"
VALUE = r"[A-Za-z0-9_\-+/=.~]{16,400}"
VALUE_REST = re.compile(r"[A-Za-z0-9_\-+/=.~]*")
_AROUND = r"[ \t\"'`\])>]{0,16}"
ASSIGNED = re.compile(
    rf"(?i:(?<![\w-])--[a-z-]{{0,20}}{NAME}[ \t]{{1,4}}"
    rf"|{NAME}{NAME_SUFFIX}{_AROUND}(?:[=:]+|(?<=>)){_AROUND}"
    rf"|(?<![A-Za-z0-9])bearer[ \t]{{1,4}})(?P<value>{VALUE})"
)
BASIC = re.compile(r"(?i:(?<![A-Za-z0-9])basic)[ \t]{1,4}(?P<value>[A-Za-z0-9+/]{10,}={0,2})")

PLACEHOLDER = re.compile(
    r"example|placeholder|redacted|changeme|dummy|x{5,}|\*{3,}|\.\.\.|0{8,}|123456789|abcdefgh|your[_-]?(?:api|key|tok|sec|pas|own)",
    re.IGNORECASE,
)
# What identifiers, paths and dates are made of, and random characters mostly are not.
PLAIN_PARTS = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{3,}|\d{4,}|[^A-Za-z0-9]+")
HEXADECIMAL = re.compile(r"(?i:[0-9a-f]{16,}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})")
LONG_PARTS = re.compile(r"[A-Za-z0-9]{12,}")
MIXES = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")


def is_placeholder(text: str) -> bool:
    """Whether a text stands for a secret without being one, as in documentation."""
    return len(set(text)) < 8 or PLACEHOLDER.search(text) is not None


def looks_random(text: str) -> bool:
    """Whether no one chose the characters: they neither form words, numbers and dates nor repeat."""
    if is_placeholder(text):
        return False
    if HEXADECIMAL.fullmatch(text):
        return not text.isdigit()
    head = text[:400]
    odd = len(PLAIN_PARTS.sub("", head))
    least = 6 if any(character.isdigit() for character in head) else 8
    mixes = [len(MIXES.findall(part)) for part in LONG_PARTS.findall(head)]
    return odd >= max(least, 0.25 * len(head)) or max(mixes, default=0) >= 3 or sum(mixes) >= 5


def find_secrets(text: str) -> Iterator[Span]:
    """Secrets of a known format, and random values under a secret's name, in any order."""
    yield from _found(KNOWN, text, _known, REST)
    yield from _found(ASSIGNED, text, _assigned, VALUE_REST)
    yield from _found(BASIC, text, _basic, VALUE_REST)


def _found(
    pattern: re.Pattern[str], text: str, kind_of: Callable[[re.Match[str]], str], rest: re.Pattern[str]
) -> Iterator[Span]:
    at = 0
    while found := pattern.search(text, at):
        group = "value" if "value" in pattern.groupindex else 0
        if kind := kind_of(found):
            tail = rest.match(text, found.end())
            at = tail.end() if tail else found.end()
            yield Span(found.start(group), at, kind)
        else:
            # what is none may still have one inside
            at = max(found.start(group), found.start() + 1)


def _known(found: re.Match[str]) -> str:
    known = FORMATS[int((found.lastgroup or "f0")[1:])]
    genuine = looks_random(found[0]) if known.checked else not is_placeholder(found[0])
    return known.kind if genuine else ""


def _assigned(found: re.Match[str]) -> str:
    return "assigned value" if looks_random(found["value"]) else ""


def _basic(found: re.Match[str]) -> str:
    """RFC 7617: user:password in base64."""
    digits = found["value"]
    try:
        decoded = b64decode(digits + "=" * (-len(digits) % 4), validate=True).decode("ascii")
    except ValueError:
        return ""
    user, colon, password = decoded.partition(":")
    whole = bool(user and colon and password) and decoded.isprintable() and " " not in decoded
    return "basic authentication" if whole else ""
