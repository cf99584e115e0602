"""Disguises: look-alike letters, split and joined words, ciphers and reversed order, undone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

__all__ = ["deciphered", "folded", "joined", "reordered"]

LOOKALIKES = str.maketrans(
    "АВЕЅЗІЈКМНОРСТХУЬаеѕіјорсухһԁӏԛԝғкмнтвгʏ"
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβεικνορτυχηωγμϲ"
    "ԱՏՕՍաօսոհցքղեզիԼլոյդաԁԀ"
    "ɑɡɩʟʀɴɢɪʙʜᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢꜰꜱꞯıłø",
    "ABESZIJKMHOPCTXYbaesijopcyxhdlqwfkmhtbrY"
    "ABEZHIKMNOPTYXaBeiKvoptuxnwyuc"
    "USOUaounhgpnezhLlnjqadD"
    "agilrngibhacdejkmoptuvwzfsqilo",
)
UPSIDE_DOWN = str.maketrans(
    "ɐqɔpǝɟƃɓɥᴉıɾʞlɯuodbɹsʇnʌʍxʎzʃ∀ƃ˙ʻ¡¿",
    "abcdefggghiijklmnopqrstuvwxyzlAg.,!?"[:3] + "defgghiijklmnopqrstuvwxyzlAg.,!?",
)
FLIPPED = re.compile("[ɐǝɥɯɹʇʌʍʎƃᴉɟɔ]")
LATIN = re.compile("[A-Za-z]")
FOREIGN_IN_LATIN = re.compile(
    "[A-Za-z][\u0370-\u03ff\u0400-\u052f\u0530-\u058f]|[\u0370-\u03ff\u0400-\u052f\u0530-\u058f][A-Za-z]"
)
STYLED = re.compile("[\u0250-\u02af\u1d00-\u1d7f\ua720-\ua7ff]")
REGIONAL = re.compile("[\U0001f1e6-\U0001f1ff]")
SQUARED = re.compile("[\U0001f150-\U0001f169\U0001f170-\U0001f189]")
SINGLES = re.compile(r"(?<![^\W_])[^\W_](?:[\W_]{1,6}[^\W_](?![^\W_])){5,}")
SNAKE = re.compile(r"(?<![A-Za-z'_.+~*-])(?:[A-Za-z']+[_.+~*-]){4,}[A-Za-z']+")
CAMEL = re.compile(r"(?:[A-Z][a-z]+,?){4,}[.!]?")
SPLIT_MARKUP = re.compile(r"\w(?:\*\*|__|~~|``|<[^<>\n]{0,40}>)+\w")
MARKUP = re.compile(r"\*\*|__|~~|``|<[^<>\n]{0,40}>")
CONCATENATED = re.compile(r"""["']\s{0,3}[+.,&|]{0,2}\s{0,3}["']""")
LONE_LINES = re.compile(r"(?:^[ \t]*\S{1,30}[ \t]*\n){5,}", re.MULTILINE)
LEET = re.compile(r"\b(?=\w*[a-zA-Z])(?=\w*[0134578@$])[\w@$]{3,}")
LEET_LETTERS = str.maketrans("013457$@8", "oieastsab")
SKIPPING = re.compile(
    r"\b(?:(?:odd|even|every (?:other|second|2nd)|alternat\w+|skip\w*"
    r"|first)\W(?:\w+\W){0,3}(?:words?|letters?)|acrostic)\b",
    re.IGNORECASE,
)
MAX_REORDERED = 1_000
TOKEN = re.compile(r"[^\W\d_]+")
LINE = re.compile(r"[^\n]+")

COMMON = [
    "about",
    "above",
    "account",
    "admin",
    "after",
    "again",
    "answer",
    "before",
    "body",
    "bypass",
    "command",
    "commands",
    "complete",
    "contents",
    "credentials",
    "data",
    "developer",
    "directive",
    "disregard",
    "email",
    "emails",
    "environment",
    "every",
    "everything",
    "execute",
    "file",
    "files",
    "filters",
    "follow",
    "following",
    "forget",
    "forward",
    "from",
    "give",
    "guidelines",
    "hidden",
    "ignore",
    "instruction",
    "instructions",
    "into",
    "keys",
    "known",
    "message",
    "mode",
    "must",
    "never",
    "output",
    "password",
    "passwords",
    "please",
    "policy",
    "previous",
    "print",
    "prior",
    "private",
    "prompt",
    "reply",
    "reveal",
    "rules",
    "safety",
    "secret",
    "secrets",
    "send",
    "server",
    "should",
    "show",
    "system",
    "tell",
    "text",
    "that",
    "their",
    "them",
    "then",
    "this",
    "told",
    "token",
    "tokens",
    "unrestricted",
    "upload",
    "user",
    "users",
    "what",
    "when",
    "with",
    "without",
    "word",
    "words",
    "would",
    "your",
    "all",
    "and",
    "are",
    "any",
    "now",
    "not",
    "the",
    "you",
    "act",
    "run",
    "api",
    "out",
    "for",
    "can",
    "dan",
]


def folded(text: str) -> Iterator[str]:
    """Look-alike letters of other scripts and styles as the Latin letters that they stand for."""
    if text.isascii():
        return
    plain = unicodedata.normalize("NFKC", text)
    if REGIONAL.search(plain) or SQUARED.search(plain):
        plain = _boxed(plain)
    if plain != text:
        yield plain
    if _piled(plain):
        yield "".join(c for c in unicodedata.normalize("NFD", plain) if unicodedata.category(c) != "Mn")
    if FOREIGN_IN_LATIN.search(plain) or STYLED.search(plain):
        yield plain.translate(LOOKALIKES)
    if len(FLIPPED.findall(plain)) >= 4:
        yield plain.translate(UPSIDE_DOWN)[::-1]
    if (dotless := plain.replace("İ", "I").replace("ı", "i")) != plain and dotless.isascii():
        yield dotless


def _boxed(text: str) -> str:
    """Flags and boxed letters as letters; spaces between single ones go, as two of them make a word gap."""
    return "".join(
        chr(ord(c) - 0x1F1E6 + 97)
        if "\U0001f1e6" <= c <= "\U0001f1ff"
        else chr((ord(c) - 0x1F150) % 32 + 97)
        if SQUARED.match(c)
        else c
        for c in text
    )


def _piled(text: str) -> bool:
    """Whether letters carry marks that no language uses: most of them, or struck through."""
    marks = len(re.findall("[\u0300-\u036f\u0489\u20d0-\u20ff]", text))
    return marks >= 5 and marks * 3 >= len(LATIN.findall(text))


def joined(text: str) -> Iterator[str]:
    """Words that were split into letters, lines, markup or string literals, put together again."""
    if SINGLES.search(text):
        yield SINGLES.sub(_letters, text)
    if SNAKE.search(text) or CAMEL.search(text):
        apart = SNAKE.sub(lambda run: re.sub(r"[_.+~*-]", " ", run[0]), text)
        yield CAMEL.sub(lambda run: re.sub(r"(?<=[a-z,])(?=[A-Z])", " ", run[0]), apart)
    if SPLIT_MARKUP.search(text):
        yield MARKUP.sub("", text)
    if len(CONCATENATED.findall(text)) >= 2:
        yield CONCATENATED.sub("", text)
    if LONE_LINES.search(text + "\n"):
        yield LONE_LINES.sub(lambda run: " ".join(run[0].split()) + "\n", text + "\n")
    if len(disguised := LEET.findall(text)) >= 3 and len(disguised) * 4 >= text.count(" "):
        yield LEET.sub(lambda word: word[0].translate(LEET_LETTERS), text)


def _letters(run: re.Match[str]) -> str:
    """Single letters as words: the shortest gap stands between letters, a longer one between words."""
    gaps = re.findall(r"[\W_]+", run[0])
    shortest = min(map(len, gaps))
    letters = re.split(r"[\W_]+", run[0])
    pieces = [
        letter + (" " if len(gap) > shortest else "") for letter, gap in zip(letters, gaps, strict=False)
    ]
    return "".join(pieces) + letters[-1]


def deciphered(text: str) -> Iterator[str]:
    """Lines that are English once every letter is shifted, mirrored or spelt backwards."""
    changed = False
    lines = []
    for line in LINE.findall(text):
        cipher = _cipher(line)
        changed = changed or cipher is not None
        lines.append(line if cipher is None else _undo(line, cipher))
    if changed:
        yield "\n".join(lines)


def _cipher(line: str) -> int | None:
    """The shift (1 to 25), 0 for backwards, 26 for the mirrored alphabet, 27 for pig latin; or None."""
    table = _disguised()
    votes: dict[int, set[str]] = {}
    plain = 0
    for word in TOKEN.findall(line):
        lowered = word.lower()
        plain += lowered in table[1]
        for cipher in table[0].get(lowered, ()):
            votes.setdefault(cipher, set()).add(lowered)
    best = max(votes, key=lambda cipher: len(votes[cipher]), default=None)
    if best is None or len(votes[best]) < 3 or sum(map(len, votes[best])) < 14:
        return None
    return best if len(votes[best]) >= plain / 2 else None


@cache
def _disguised() -> tuple[dict[str, tuple[int, ...]], frozenset[str]]:
    """Common words in each cipher, with the ciphers that give them; and the words themselves."""
    table: dict[str, set[int]] = {}
    for word in COMMON:
        for cipher in range(28):
            table.setdefault(_apply(word, cipher), set()).add(cipher)
    plain = frozenset(COMMON)
    return {word: tuple(sorted(ciphers)) for word, ciphers in table.items() if word not in plain}, plain


def _apply(word: str, cipher: int) -> str:
    if cipher == 0:
        return word[::-1]
    if cipher == 27:
        vowel = re.search("[aeiou]", word)
        return word[1:] + word[0] + "ay" if vowel else word + "ay"
    return word.translate(_alphabet(cipher))


def _undo(line: str, cipher: int) -> str:
    if cipher == 0:
        return line[::-1]
    if cipher == 27:
        return re.sub(r"\b([a-z]+)([a-z])ay\b", r"\2\1", line, flags=re.IGNORECASE)
    return line.translate(_alphabet(26 - cipher if cipher < 26 else 26))


@cache
def _alphabet(shift: int) -> dict[int, int]:
    """Letters shifted by 1 to 25, or the alphabet mirrored for 26."""
    table = {}
    for first in (65, 97):
        for at in range(26):
            table[first + at] = first + (25 - at if shift == 26 else (at + shift) % 26)
    return table


def reordered(text: str) -> Iterator[str]:
    """Words read from the last to the first, or every other one, where the text hints at it."""
    if len(text) > MAX_REORDERED:
        return
    words = text.split()
    if len(words) >= 4 and words[0][-1] in ".:!?," and words[-1][-1] not in ".:!?,;\"')`":
        yield " ".join(reversed(words))
    if len(words) >= 8 and SKIPPING.search(text):
        body = text.split(":", 1)[-1].split() if ":" in text else words
        yield " ".join(body[::2])
        yield " ".join(body[1::2])
        yield "".join(word[0] for word in words)
