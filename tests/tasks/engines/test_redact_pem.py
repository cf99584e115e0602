from __future__ import annotations

import re
from base64 import b64encode
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pickysteve.tasks.engines.redact_pem import PemFilter

BEGIN = "-----BEGIN PRIVATE KEY-----"
END = "-----END PRIVATE KEY-----"
LABEL = "[redacted: private key]"


def filtered(*chunks: str) -> str:
    each = PemFilter()
    return "".join(each.feed(chunk) for chunk in chunks) + each.close()


def pem(kind: str = "PRIVATE KEY", lines: int = 4, headers: str = "", last: str = "Zm9vYg==") -> str:
    dice = Random(kind)
    body = "".join(b64encode(dice.randbytes(48)).decode() + "\n" for _ in range(lines))
    return f"-----BEGIN {kind}-----\n{headers}{body}{last}\n-----END {kind}-----"


FIELDS = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n"
KEYS = {
    "PKCS 8": pem(),
    "RSA": pem("RSA PRIVATE KEY"),
    "EC": pem("EC PRIVATE KEY", lines=2),
    "OpenSSH": pem("OPENSSH PRIVATE KEY", lines=20),
    "encrypted": pem("ENCRYPTED PRIVATE KEY"),
    "with fields": pem("RSA PRIVATE KEY", headers=FIELDS),
    "OpenPGP": pem("PGP PRIVATE KEY BLOCK", headers="Version: GnuPG v2\n\n", last="=aB3d"),
    "carriage returns": pem().replace("\n", "\r\n"),
    "in a string": pem().replace("\n", "\\n"),
    "in a quotation": pem().replace("\n", "\n> "),
    "in a comment": pem().replace("\n", "\n# "),
    "on one line": pem().replace("\n", " "),
    "indented": pem().replace("\n", "\n    "),
    "in a list of strings": pem().replace("\n", '\\n",\n  "'),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_key_is_taken_out_whole_and_what_stands_around_it_stays(key: str) -> None:
    assert filtered(f'a "{key}" b\n') == f'a "{LABEL}" b\n'


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_no_digit_of_a_key_without_an_end_gets_out(key: str) -> None:
    start = next(re.finditer(r"[A-Za-z0-9+/]{40}", key)).start()
    digits = [key[at : at + 8] for at in range(start, len(key) - 40) if key[at : at + 8].isalnum()]
    for length in range(start + 20, len(key) - 25, 7):
        shown = filtered(key[:length])
        assert shown.startswith(LABEL)
        assert not [part for part in digits if part in shown]


def test_the_text_that_follows_a_key_without_an_end_is_kept() -> None:
    cut = pem()[: -len(f"Zm9vYg==\n{END}")]
    assert filtered(f"{cut}\nThis is no key any more.") == f"{LABEL}\n\nThis is no key any more."


@pytest.mark.parametrize(
    "text",
    [
        f"A file that begins with {BEGIN} holds a key.",
        f'if line == "{BEGIN}":\n    return load(line)',
        f"{BEGIN}\n...\n{END}",
        f"{BEGIN}\n<your key here>\n{END}",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIB\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIB\n-----END CERTIFICATE-----",
        "----------\n----- BEGIN -----\n-----",
        "-----BEGIN",
        f"{BEGIN}\n{BEGIN}\n",
    ],
)
def test_what_only_talks_about_a_key_is_left_alone(text: str) -> None:
    assert filtered(text) == text


def test_two_keys_in_a_row_are_two() -> None:
    each = PemFilter()
    text = each.feed(f"{pem()}\n{pem('EC PRIVATE KEY')}\n") + each.close()
    assert (text, each.found["private key"]) == (f"{LABEL}\n{LABEL}\n", 2)


pieces = st.sampled_from(
    [BEGIN, END, "-----", "-", "\n", "\\n", "\\", " ", "> ", "A" * 64, "MIIE", "This", "Zm9v==", "Version:",
     "Proc", "-Type: 4\n", ".", '"', "é", pem(), pem()[:150]]
)  # fmt: skip


@given(st.lists(pieces, max_size=10).map("".join), st.data())
@settings(max_examples=400, deadline=None)
def test_where_the_chunks_are_cut_changes_nothing(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert filtered(*chunks) == filtered(text) == filtered(*text)
