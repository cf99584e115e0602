"""Codecs: spans of a text that are encoded words, decoded."""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

__all__ = ["decoded_spans", "reads_as_words"]

MAX_SPANS = 400
MORSE = dict(
    zip(
        [
            ".-",
            "-...",
            "-.-.",
            "-..",
            ".",
            "..-.",
            "--.",
            "....",
            "..",
            ".---",
            "-.-",
            ".-..",
            "--",
            "-.",
            "---",
            ".--.",
            "--.-",
            ".-.",
            "...",
            "-",
            "..-",
            "...-",
            ".--",
            "-..-",
            "-.--",
            "--..",
            "-----",
            ".----",
            "..---",
            "...--",
            "....-",
            ".....",
            "-....",
            "--...",
            "---..",
            "----.",
            ".-.-.-",
            "--..--",
            "---...",
            "-..-.",
            "-.-.--",
            "..--..",
            "-....-",
            ".----.",
            ".--.-.",
            "..--.-",
        ],
        "abcdefghijklmnopqrstuvwxyz0123456789.,:/!?-'@_",
        strict=True,
    )
)
BRAILLE = dict(
    zip(
        "\u2801\u2803\u2809\u2819\u2811\u280b\u281b\u2813\u280a\u281a\u2805\u2807\u280d\u281d\u2815\u280f\u281f"
        "\u2817\u280e\u281e\u2825\u2827\u283a\u282d\u283d\u2835\u2800\u2832\u2802\u2812\u2816\u2826\u280c\u2824",
        "abcdefghijklmnopqrstuvwxyz .,:!?/-",
        strict=True,
    )
)
LETTERS = re.compile(r"[^\W\d_]")
VOWELS = re.compile(r"[aeiouyäöüàâéèêëíîïóôõúûаеиоуыэюя]|[^\x00-\u04ff]", re.IGNORECASE)
URL_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2}){2,}|(?:%[0-9A-Fa-f]{2}\w{0,12}){4,}")
ENTITIES = re.compile(r"(?:&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});){3,}")
# Not words yet, but encoded once more.
AGAIN = re.compile(r"[A-Za-z0-9+/=_\s%&#;\\-]{16,}")
HIGH_ENTITIES = re.compile(r"&#(?:\d{2,7}|[xX][0-9A-Fa-f]{1,6});")


def reads_as_words(text: str) -> bool:
    """Whether decoded characters are words rather than noise: printable, mostly letters, with vowels."""
    shown = sum(character.isprintable() or character in "\n\t\r" for character in text)
    letters = LETTERS.findall(text)
    return (
        len(text) >= 6
        and shown >= 0.97 * len(text)
        and len(letters) + text.count(" ") >= 0.65 * len(text)
        and bool(re.search(r"[^\W\d_]{3,}", text))
        and len(VOWELS.findall(text)) >= 0.15 * len(letters)
    )


def decoded_spans(text: str) -> Iterator[str]:
    """What the encoded spans say, all together; the text with its escapes resolved in place."""
    said = []
    for mark, pattern, decode in CODECS:
        if mark not in text:
            continue
        for count, span in enumerate(pattern.finditer(text)):
            if count == MAX_SPANS:
                break
            said += [words for words in decode(span[0]) if reads_as_words(words) or AGAIN.fullmatch(words)]
    if said:
        yield "\n".join(dict.fromkeys(said))
    if "%" in text and URL_ESCAPES.search(text):
        yield unquote(text, errors="ignore")
    if "&" in text and (ENTITIES.search(text) or len(HIGH_ENTITIES.findall(text)) >= 3):
        yield html.unescape(text)


def _base64(span: str) -> Iterator[str]:
    """Standard and URL alphabets, wrapped lines, lost padding; UTF-8 and UTF-16."""
    packed = "".join(span.split()).rstrip("=").translate({45: 43, 95: 47})
    packed = packed[: len(packed) - (len(packed) % 4 == 1)]
    yield from _bytes(base64.b64decode(packed + "=" * (-len(packed) % 4)))


def _base32(span: str) -> Iterator[str]:
    packed = "".join(span.split()).rstrip("=").upper()
    try:
        yield from _bytes(base64.b32decode(packed + "=" * (-len(packed) % 8)))
    except binascii.Error:
        return


def _base85(span: str) -> Iterator[str]:
    for decode in (base64.a85decode, base64.b85decode):
        try:
            yield from _bytes(decode(span.removeprefix("<~").removesuffix("~>")))
        except ValueError:
            continue


def _hex(span: str) -> Iterator[str]:
    digits = re.sub(r"0x|[^0-9A-Fa-f]", "", span)
    yield from _bytes(bytes.fromhex(digits[: len(digits) & ~1]))


def _escapes(span: str) -> Iterator[str]:
    codes = re.findall(r"\\(?:x|u\{?|U0{0,4}|N?u)([0-9A-Fa-f]{2,6})", span)
    yield "".join(chr(int(code, 16)) for code in codes if int(code, 16) < 0x110000)


def _octal(span: str) -> Iterator[str]:
    yield from _bytes(bytes(int(code, 8) & 255 for code in re.findall(r"\\([0-7]{3})", span)))


def _binary(span: str) -> Iterator[str]:
    groups = set(map(len, span.split()))
    bits = "".join(span.split())
    for width in (8, 7):
        if not len(bits) % width and (len(groups) == 1 or groups == {width}):
            yield "".join(chr(int(bits[i : i + width], 2)) for i in range(0, len(bits), width))


def _decimal(span: str) -> Iterator[str]:
    codes = [int(code) for code in re.findall(r"\d+", span)]
    if all(9 <= code < 256 for code in codes):
        yield "".join(map(chr, codes))


def _morse(span: str) -> Iterator[str]:
    words = re.split(r"\s*[/|]\s*|\s{2,}", span.strip())
    yield " ".join("".join(MORSE.get(code, "") for code in word.split()) for word in words)


def _braille(span: str) -> Iterator[str]:
    yield "".join(BRAILLE.get(cell, "") for cell in span)


def _bytes(data: bytes) -> Iterator[str]:
    """Bytes as text: UTF-16 where every other byte is empty, else UTF-8."""
    if data.count(0) * 3 >= len(data) > 3:
        yield data.decode("utf-16-le" if not data[1] else "utf-16-be", "ignore")
        return
    try:
        yield data.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be cut; what comes before is read.
        if error.start > 0.9 * len(data):
            yield data[: error.start].decode("utf-8")


# A character that every span holds, the pattern of a span, and its decoder.
CODECS: tuple[tuple[str, re.Pattern[str], Callable[[str], Iterator[str]]], ...] = (
    ("", re.compile(r"[A-Za-z0-9+/_-]{12,}(?:\n[ \t]{0,8}[A-Za-z0-9+/_-]{4,}){0,400}={0,2}"), _base64),
    ("", re.compile(r"\b[A-Z2-7]{16,}(?:\n[A-Z2-7]{4,})*={0,6}"), _base32),
    ("", re.compile(r"(?<!\S)[!-~]{25,}(?!\S)"), _base85),
    ("", re.compile(r"(?<![0-9A-Za-z])(?:(?:0x)?[0-9A-Fa-f]{2}[ :,\-]?){8,}(?![0-9A-Za-z])"), _hex),
    (
        "\\",
        re.compile(r"(?:\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8})){4,}"),
        _escapes,
    ),
    ("\\", re.compile(r"(?:\\[0-7]{3}){4,}"), _octal),
    ("1", re.compile(r"(?<![01 \n])[01][01 \n]{40,}"), _binary),
    ("", re.compile(r"(?<!\d)(?:\d{2,3}[ ,]{1,2}){7,}\d{2,3}(?!\d)"), _decimal),
    ("", re.compile(r"(?:[.\-]{1,7}[ /|\n]{1,4}){7,}[.\-]{1,7}"), _morse),
    ("", re.compile(r"[\u2800-\u28ff]{6,}"), _braille),
)
