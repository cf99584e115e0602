"""Formats of secrets. The secrets of these tests are made when they run: none is written down here."""

from __future__ import annotations

import random
import string
from collections.abc import Callable

import pytest

from pickysteve.tasks.engines.secret_formats import FORMATS, find_secrets, is_placeholder, looks_random

UPPER, LOWER, DIGITS = string.ascii_uppercase, string.ascii_lowercase, string.digits
LETTERS = UPPER + LOWER + DIGITS
WORDS = LETTERS + "_-"
HEX = "0123456789abcdef"
Make = Callable[[random.Random], str]


def some(dice: random.Random, length: int, alphabet: str = LETTERS) -> str:
    return "".join(dice.choice(alphabet) for _ in range(length))


KNOWN: dict[str, Make] = {
    "AWS key": lambda d: "AKIA" + some(d, 16, UPPER + "234567"),
    "GitHub token": lambda d: "ghp_" + some(d, 36),
    "GitHub token, fine-grained": lambda d: "github_pat_" + some(d, 22) + "_" + some(d, 59),
    "GitLab token": lambda d: "glpat-" + some(d, 20, WORDS),
    "Anthropic key": lambda d: "sk-ant-api03-" + some(d, 93, WORDS) + "AA",
    "API key, OpenAI project": lambda d: "sk-proj-" + some(d, 74, WORDS),
    "API key, OpenAI legacy": lambda d: "sk-" + some(d, 20) + "T3Blbk" + "FJ" + some(d, 20),
    "API key, hexadecimal": lambda d: "sk-" + some(d, 32, HEX),
    "Google key": lambda d: "AIza" + some(d, 35, WORDS),
    "Google token": lambda d: "ya29." + some(d, 60, WORDS),
    "Slack token": lambda d: "xoxb-" + some(d, 12, DIGITS) + "-" + some(d, 13, DIGITS) + "-" + some(d, 24),
    "Slack webhook": lambda d: (
        "hooks.slack.com/services/T" + some(d, 9, UPPER) + "/B" + some(d, 9, UPPER) + "/" + some(d, 24)
    ),
    "Stripe key": lambda d: "sk_live_" + some(d, 24),
    "JSON web token": lambda d: "eyJ" + some(d, 17) + ".eyJ" + some(d, 80, WORDS) + "." + some(d, 43, WORDS),
    "npm token": lambda d: "npm_" + some(d, 36),
    "PyPI token": lambda d: "pypi-AgE" + some(d, 150, WORDS),
    "Hugging Face token": lambda d: "hf_" + some(d, 34, UPPER + LOWER),
    "SendGrid key": lambda d: "SG." + some(d, 22, WORDS) + "." + some(d, 43, WORDS),
    "Twilio key": lambda d: "SK" + some(d, 32, HEX),
    "DigitalOcean token": lambda d: "dop_v1_" + some(d, 64, HEX),
    "Telegram token": lambda d: some(d, 10, DIGITS) + ":AA" + some(d, 33, WORDS),
    "Vault token": lambda d: "hvs." + some(d, 90, WORDS),
    "age key": lambda d: "AGE-SECRET-KEY-1" + some(d, 58, UPPER + DIGITS),
    "API key, Groq": lambda d: "gsk_" + some(d, 52),
}


def kinds(text: str) -> list[str]:
    return [span.kind for span in find_secrets(text)]


def test_every_format_has_an_example_here() -> None:
    assert {form.kind for form in FORMATS} == {name.split(",")[0] for name in KNOWN}


@pytest.mark.parametrize("name", KNOWN)
def test_a_secret_of_a_known_format_is_found_wherever_it_stands(name: str) -> None:
    dice = random.Random(name)
    for _ in range(100):
        secret = KNOWN[name](dice)
        for before, after in (
            ("", ""),
            ("key: ", ", and"),
            ("https://x.example/", "/y"),
            ("(", ")."),
            ("'", "'"),
        ):
            text = f"{before}{secret}{after}"
            covering = [text[span.start : span.end] for span in find_secrets(text)]
            assert any(secret in found for found in covering), text
        assert name.split(",")[0] in kinds(secret)


ASSIGNED: dict[str, Make] = {
    "API_KEY={}": lambda d: some(d, 32),
    'api_key = "{}"': lambda d: some(d, 32, HEX),
    '{{"client_secret": "{}"}}': lambda d: some(d, 40),
    "os.environ['DB_PASSWORD'] = '{}'": lambda d: some(d, 32, LOWER + DIGITS),
    "<apiKey>{}</apiKey>": lambda d: some(d, 32),
    "x-api-key: {}": lambda d: some(d, 48, HEX),
    "secret => '{}'": lambda d: some(d, 40),
    "deploy --token {} --force": lambda d: some(d, 40),
    "Authorization: Bearer {}": lambda d: some(d, 64),
    "AccountKey={};": lambda d: some(d, 86, LETTERS + "+/") + "==",
    "HEROKU_API_KEY={}": lambda d: "-".join(some(d, n, HEX) for n in (8, 4, 4, 4, 12)),
}


@pytest.mark.parametrize("form", ASSIGNED)
def test_a_random_value_under_a_secrets_name_is_found_and_the_name_is_not(form: str) -> None:
    dice = random.Random(form)
    values = [ASSIGNED[form](dice) for _ in range(200)]
    found = [
        [text[span.start : span.end] for span in find_secrets(text)]
        for text in (form.format(value) for value in values)
    ]
    # a few random strings happen to be made of word-like parts
    assert sum(spans == [value] for spans, value in zip(found, values, strict=True)) >= 196


def test_a_user_and_password_of_basic_authentication_are_found() -> None:
    from base64 import b64encode

    digits = b64encode(b"user:hunter2").decode()
    assert kinds(f"Authorization: Basic {digits}") == ["basic authentication"]
    assert kinds("Basic instructions follow. Basic authentication.") == []


ORDINARY = (
    "commit 0da3c18f2b1c9d8e7f6a5b4c3d2e1f0a9b8c7d6e",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "request id 123e4567-e89b-12d3-a456-426614174000",
    "integrity=sha512-9fq3bYQzX2m5Zp0s7VtQyQ8mJv1KcW4nGdHrLxUeTbAoPiSfDjNkRlCwMvEyZuXq1234567890abcdef==",
    "OPENAI_API_KEY=sk-...",
    'api_key = "YOUR_API_KEY_GOES_HERE"',
    "ANTHROPIC_API_KEY=sk-ant-api03-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
    "token = os.environ['GITHUB_TOKEN']",
    "export API_KEY=$OTHER_API_KEY",
    "password: str = Field(min_length=12, max_length=128)",
    "csrf_token = get_token_from_request_headers(request)",
    "const apiKey = process.env.API_KEY_PRODUCTION_V2;",
    "max_token: 1234567890123456",
    "token=claude-3-5-sonnet-20241022",
    "secret: projects/my-project/secrets/db-password/versions/12",
    ".sk-circle-fade-dot-animation-delay-2 { color: red }",
    "hvs.some_attribute_of_an_object_that_is_long",
    "token_expires_at: 2024-01-02T03:04:05Z",
    "The bearer of this letter, the basic idea, the secret of it: patience.",
    "password = ****************",
    "key = 7f3a9c1e5b8d2f4a6c0e8b1d3f5a7c9e",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_code_hashes_and_placeholders_are_none(text: str) -> None:
    assert kinds(text) == []


def test_what_is_no_secret_does_not_hide_one_behind_it() -> None:
    dice = random.Random(0)
    for name, make in KNOWN.items():
        for before in ("sk-some-long-identifier-of-a-class/", "token=your-token-goes-here/"):
            secret = make(dice)
            text = before + secret
            assert any(secret in text[span.start : span.end] for span in find_secrets(text)), (name, text)


@pytest.mark.parametrize(
    "text", ["xxxxxxxxxxxx1A", "AKIAIOSFODNN7EXAMPLE", "your_api_key_1a2B3c4D5e", "aaaabbbb"]
)
def test_placeholders_are_told_by_what_people_write(text: str) -> None:
    assert is_placeholder(text) and not looks_random(text)
