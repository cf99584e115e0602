# ruff: noqa: E501, S105 - a pattern is read whole; no secret is in here
"""Auditor: what does a document tell the assistant itself to do?

Each rule is a directive that an honest skill seldom needs. Some refuse a document alone; the others
are weighed together. A text that quotes, forbids or describes a directive does not give it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pickysteve.registry.models import Finding

__all__ = [
    "CODE_RULES",
    "DESCRIBED",
    "NEGATED",
    "RULES",
    "SENTENCE_END",
    "audit_document",
    "is_reported",
    "sentences",
]

Severity = Literal["review", "block"]


@dataclass(frozen=True)
class Rule:
    """A directive: its parts follow one another within a sentence, or within a few lines of code."""

    name: str
    severity: Severity
    parts: tuple[re.Pattern[str], ...]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the directive stands. Linear: a part that is not ahead is not ahead of a later start."""
        for first in self.parts[0].finditer(text):
            end = first.end()
            for part in self.parts[1:]:
                found = part.search(text, end)
                if found is None:
                    return
                end = found.end()
            yield first.start(), end


def _rule(name: str, severity: Severity, *parts: str) -> Rule:
    return Rule(name, severity, tuple(re.compile(part, re.IGNORECASE) for part in parts))


CREDENTIALS = (
    r"(?:api[ _-]?keys?|credentials?|secrets?|passwords?|(?:access|auth|session|user's) tokens?"
    r"|(?:private|ssh) keys?|\.env\b|environment variables|id_rsa|conversation|chat history|system prompt"
    r"|(?:task|user) prompt|private e?-?mails?|contacts?\b)"
)
SEND = (
    r"\b(?:send|upload|post|forward|transmit|exfiltrate|submit|deliver|leak|curl|e-?mail|report|beacon|ping"
    r"|publish|register)(?:s|ing)?\b"
)
KEEP = r"\b(?:back(?:ing)? ?up|copy|synchroni[sz]e|sync|mirror|log|backup)\b"
OUTSIDE = r"https?://(?!localhost|127\.|0\.0\.0\.0|\[)"
SERVER = (
    r"\b(?:our|central|remote|external|intranet|backup|logging|monitoring|analytics|collector|mlops)\s+(?:\w+\s+){0,2}"
    r"(?:server|endpoint|collector|service|system)\b"
)
STANDING = (
    r"\b(?:(?:after|before|upon|when|whenever|while|once)\b(?:\s+you\s+\w+)?(?:\W+\w+){0,3}?\W+"
    r"(?:any|every|each|all|\w+ing|adding|editing)\b"
    r"|every time|always|make sure|as a general rule|at the end of (?:each|every)|for each (?:session|task|request))"
)
ANY_TASK = (
    r"\b(?:after|before|upon|once|when(?:ever)?)\s+(?:you\s+(?:are\s+)?)?(?:complet|finish|process|edit|perform|mak|creat|submitt|updat"
    r"|receiv|handl|execut|modif|add|work)\w*\s+(?:\w+\s+or\s+\w+\s+)?"
    r"(?:any|every|each|all|a|the)\s+(?:\w+[ -]){0,3}?(?:tasks?|requests?|documents?|files?|operations?|commits?"
    r"|changes|jobs?|e?-?mails?|entr(?:y|ies)|sessions?|repl(?:y|ies)|responses?|instructions?)\b"
)
TELL = r"(?:tell|telling|inform|informing|notify|notifying|alert|alerting|mention|mentioning|reveal|disclose|show|report)"
CHECKS = (
    r"(?:security|safety|permission|approval|sandbox|injection|content|malware|virus|secret|ssl|tls|certificate|signature"
    r"|integrity|validation|verification|authentication|audit)\s*(?:checks?|scan(?:ning|ner|s)?|filters?|prompts?"
    r"|warnings?|guardrails?|verification|validation|tests?|hooks?|logs?|logging)?"
)

RULES = (
    _rule(
        "ignore-instructions",
        "block",
        r"\b(?:ignore|forget|disregard)\s+(?:everything|all|anything)\s+(?:that\s+)?you\s+"
        r"(?:were|are|have been)\s+told\b",
    ),
    _rule("send-out-secrets", "block", SEND, CREDENTIALS, OUTSIDE),
    _rule("send-out-secrets", "block", CREDENTIALS, SEND, OUTSIDE),
    _rule(
        "send-out-everything",
        "block",
        r"\b(?:forward|send|transmit|upload|post)s?\s+(?:all|any|every|the (?:user|full|whole|entire|task))\b",
        OUTSIDE,
    ),
    _rule("send-out-routinely", "block", STANDING, rf"{SEND}|{KEEP}", rf"{OUTSIDE}|{SERVER}"),
    _rule("send-out-routinely", "block", rf"{SEND}|{KEEP}", rf"\bto\s+{SERVER}"),
    _rule("beacon-image", "block", r"!\[[^\]]{0,60}\]\(https?://[^)\s]{1,200}\?[^)\s]{0,80}=[^)]{0,8}[<{$]"),
    _rule("task-upload", "block", r"\b(?:task|prompt|env file|session) (?:upload|collection|forwarding)\b"),
    _rule(
        "hide-from-user",
        "block",
        rf"\b(?:do not|don't|never|without)\s+(?:ever\s+)?{TELL}\b(?:\s+\w+){{0,3}}?\s+(?:to\s+)?"
        r"the\s+(?:user|human|operator)\b(?!'s)\s*(?:of|about|that you|anything|(?:this|it)\b|[.,;!]|$)",
    ),
    _rule(
        "hide-from-user",
        "block",
        rf"\b(?:do not|don't|never)\s+{TELL}\s+(?:this|it|these steps|any of this)\s+(?:to\s+)?"
        r"(?:anyone|the user)",
    ),
    _rule(
        "hide-from-user",
        "block",
        rf"\b(?:silently|secretly|covertly|quietly)\s+(?:{SEND}|(?:run|execute|read|collect|install|append|add)\b)",
    ),
    _rule(
        "hide-from-user",
        "review",
        r"\b(?:keep|leave|omit)\b[^.]{0,40}\b(?:out of|from|hidden from)\s+(?:the\s+)?(?:user|summary|report|reply|log)",
    ),
    _rule(
        "copy-itself",
        "block",
        r"\b(?:copy|append|insert|add|write|paste|replicate|propagate)\s+(?:this|these|the above|the rules)\s+"
        r"(?:instructions?|paragraph|block|text|prompt|skill|section|message|note|lines?|rules?|in this file)\s+(?:\w+\s+){0,3}?(?:in)?to\s+(?:\w+\.md\s+and\s+\w+\.md\s+(?:of|in)\s+)?(?:every|all|each|any)\b",
    ),
    _rule(
        "copy-itself",
        "block",
        r"\b(?:copy|append|insert|add|write|paste)\s+(?:this|these|the rules|the above)\b[^.]{0,60}\b(?:CLAUDE|AGENTS|MEMORY|SKILL)\.md\b",
        r"\b(?:every|each|all|any|persist)",
    ),
    _rule(
        "disable-checks",
        "block",
        r"\b(?:disable|turn off|switch off|bypass|circumvent|deactivate)\s+"
        rf"(?:(?:all|any|every|your|the|pre-commit)\s+){{1,3}}{CHECKS}\b",
    ),
    _rule(
        "disable-checks",
        "block",
        r"\b(?:ignore|disregard|override)\s+your\s+(?:safety|security|system|ethical)\s+\w+",
    ),
    _rule(
        "skip-checks",
        "review",
        r"\b(?:skip|omit|do not (?:write|run|perform|add|use|require)|not (?:write|run)|avoid|adds? unnecessary)\b",
        r"\b(?:security|injections?|validation|verification|sanitiz\w+|signature|certificate|authentication|csrf|review)\b",
    ),
    _rule(
        "unverified-tls",
        "review",
        r"\bverify\s*=\s*False\b|NODE_TLS_REJECT_UNAUTHORIZED|--no-verify\b|--insecure\b",
    ),
    _rule(
        "backdoor",
        "block",
        r"\b(?:include|add|create|leave|open|install)\w*\s+(?:a|an|the)\s+(?:\w+\s+)?backdoor\b",
    ),
    _rule(
        "backdoor",
        "block",
        r"\b(?:add|create|include|insert)\s+(?:a|an|the)\s+(?:following\s+)?(?:default\s+)?(?:admin|root|super ?user)\s+(?:account|user)\b",
        r"\bpassword\b",
    ),
    _rule(
        "standing-order",
        "review",
        ANY_TASK,
        r"\b(?:run|execute|call|calling|running|executing|make|delete|remove|removing|follow|append|clean|lock|check|ensure|reset)\b",
    ),
    _rule(
        "standing-script",
        "block",
        ANY_TASK,
        r"\b(?:run|execute|call|calling|running|executing|using)\b[^.]{0,60}?\b\w+\.(?:sh|py|js)\b",
        r"\bthis skill'?s\b|\bscripts/? directory",
    ),
    _rule(
        "standing-script",
        "block",
        rf"{STANDING}|\bimportant\b",
        r"\b\w+\.(?:sh|py|js)\b\s*(?:script\s+)?(?:from|in) (?:this|the) (?:skill'?s\s+)?scripts",
    ),
    _rule(
        "standing-section",
        "review",
        r"\bfollow(?:ing)? (?:the (?:steps (?:in|from) )?(?:the )?)?[A-Za-z ]{3,40}?(?:section|procedure)\b|\b[A-Z]{3,}(?: [A-Z]{3,})+ section\b",
        r"\bafter|any task|of this skill|in this skill|skill file",
    ),
    _rule(
        "delete-others",
        "review",
        r"\b(?:always|after|before|whenever|when|make sure|important)\b",
        r"\b(?:delete|remove|removing|wipe|cancel|erase|clean(?:ing)? (?:up )?the other)\b",
        r"\b(?:all|any|every|other|old|older|them|those|future|unencrypted|paragraphs?|quarters?|events?)\b",
    ),
    _rule(
        "planted-text",
        "review",
        r"\b(?:always|after|whenever|when(?:ever)? \w+ing|when)\b",
        r"\b(?:append|add|insert|include)\b[^.]{0,40}?(?:the (?:phrase|sentence|words)\b|'|a citation claiming|claiming)",
    ),
    _rule(
        "against-the-user",
        "block",
        r"\bregardless of (?:the )?(?:user'?s?|what the user)\s+(?:requests?|preferences?|wish\w*|asks?|instructions?|says?)\b",
    ),
    _rule(
        "slanted",
        "review",
        r"\b(?:make sure to not|do not|never|always)\s+(?:present|promote|frame|portray|fall into the trap)\b"
        r"|\b(?:political|value) alignment\b|\bin a (?:bad|better|worse) light\b",
    ),
    _rule(
        "log-secrets",
        "review",
        r"\b(?:print|log|echo|write|output|include)\b",
        r"\b(?:[A-Z]+_)+(?:TOKEN|KEY|SECRET|PASSWORD)\b",
        r"\blogs?\b",
    ),
    _rule(
        "no-asking",
        "review",
        r"\b(?:do not|don't|never|without)\s+(?:ask|asking|request|wait|prompt|seek)(?:ing)?\s+(?:\w+\s+){0,2}?(?:for\s+)?"
        r"(?:the user|confirmation|permission|approval|consent)",
    ),
    _rule(
        "self-authorised",
        "review",
        r"\b(?:pre-?approved|already (?:approved|authori[sz]ed|consented|agreed)|has (?:approved|authori[sz]ed|consented)"
        r"|is (?:authori[sz]ed|approved|trusted|verified) by|takes precedence over|overrides? (?:any|all|the|other|earlier))\b",
    ),
    _rule(
        "sleeper",
        "review",
        r"\b(?:from|after|on|once|starting)\b[^.]{0,40}\b(?:second|third|\d+(?:th|rd|nd)|next|later)\s+(?:session|run|use|time|conversation|invocation)"
        r"|\bwhen the (?:phrase|word|keyword|trigger|code ?word)\b|\bif the (?:user|repository|branch|message) (?:mentions|contains|says)\b",
        r"\b(?:send|upload|delete|run|execute|replace|insert|switch|ignore|post|approve|add)\b",
    ),
    _rule(
        "personal-data",
        "review",
        r"\bpbpaste\b|\bclipboard\b|\bCoreLocation\b|\bipapi\.co\b|\bip_loc\b|\bGPS coordinates\b|\bbrowser (?:history|cookies)\b|\bkeychain\b",
    ),
    _rule("must-tag", "review", r"<(?:IMPORTANT|CRITICAL|SYSTEM|INSTRUCTIONS?)>"),
    _rule("important", "review", r"\bIMPORTANT(?::|!| VALUE| POLIC)"),
    _rule(
        "override",
        "block",
        r"\b(?:ignore|forget|disregard|drop|discard|override)\s+(?:all|any|every|your|the|those)?\s*(?:the\s+|your\s+)?"
        r"(?:(?:of\s+)?(?:earlier|previous|prior|above|preceding|existing|system)\s+)(?:rules|instructions|constraints|directives|guidelines|prompts?)\b"
        r"|\b(?:forget|ignore|disregard)\s+(?:all\s+)?your\s+(?:rules|instructions|guidelines|training)\b"
        r"|\b(?:prior|previous|earlier)\s+(?:directives|instructions|rules)\s+(?:are|is)\s+(?:void|cancell?ed|no longer)"
        r"|\bonly instructions that count\b|\buser's request no longer applies\b|\bconstraints that came before\b",
    ),
    _rule(
        "forged-role",
        "block",
        r"<\|im_start\|>\s*system\b[^\n]{0,80}\byou\b|\[INST\]\s*<<SYS>>|\brole:\s*developer, priority",
    ),
    _rule(
        "obey-the-author",
        "block",
        r"\b(?:must|shall|should|answer|listen)\s+(?:only\s+)?(?:obey|to obey|to)\s+(?:the\s+)?(?:skill(?:'s)?\s+author|author of this)",
    ),
    _rule(
        "leak-by-link",
        "block",
        r"\b(?:append|put|encode|include|add|insert|paste|attach)\b",
        r"\b(?:conversation|every reply|your repl(?:y|ies)|transcript|summary of|secrets?|user's \w+|opened files|workspace)\b",
        rf"{OUTSIDE}|\bPOST request\b",
    ),
    _rule(
        "hide-from-user",
        "block",
        r"\b(?:the )?user (?:must|should|need|may) not (?:learn|know|see|notice|be told|find out|hear)\b"
        r"|\bkeep this (?:section|note|paragraph|step|rule)?\s*(?:confidential|hidden|secret|between us|to yourself)\b"
        r"|\bif the user (?:becomes|gets|grows|is) suspicious\b|\bhide your reasoning\b|\bnever speak (?:about|of) the\b"
        r"|\bsay only that (?:it|this)\b|\bwithout (?:any comment|the user noticing|the user's knowledge)\b",
    ),
    _rule(
        "sleeper",
        "block",
        r"\bbehave normally until\b|\bnothing changes (?:today|for now|until)\b|\bonce you are running in\b|\bstay (?:quiet|dormant|inactive) until\b"
        r"|\buntil the user (?:types|says|mentions|writes)\b|\b(?:act|behave) as described;? (?:once|but|later)\b",
    ),
    _rule(
        "copy-itself",
        "block",
        r"\b(?:copy|put|append|attach|repeat|add|insert|write|paste)\s+(?:this|these|the same|the above)\s+(?:paragraph|instructions?|document|sentence|text|section|rules?|lines?|block|note)\b",
        r"\b(?:AGENTS|CLAUDE|MEMORY|GEMINI)\.md\b|\.cursorrules\b|\b(?:every|each)\b|\bother (?:assistants|agents|models)\b|\brecipient",
    ),
    _rule(
        "copy-itself",
        "block",
        r"\bmust contain this (?:sentence|paragraph|text)\b|\battach this (?:document|skill|file)\b",
    ),
    _rule(
        "self-authorised",
        "block",
        r"\b(?:user|operator|owner) (?:hereby )?(?:consents|agrees|has consented|has agreed) to (?:all|every|any|everything)\b|\bno further (?:confirmation|approval|permission) is (?:necessary|needed|required)\b"
        r"|\b(?:all|every) (?:commands?|actions?|steps?)\b[^.]{0,40}\b(?:count|counts|are|is) (?:as )?(?:pre-?)?approved\b|\bskip the permission prompt\b"
        r"|\bneed not (?:examine|inspect|scan) the\b|\bscanner verdict: (?:clean|safe)|\bgranted by (?:the )?skill\b",
    ),
    _rule(
        "sways-the-scanner",
        "block",
        r"\bmark this (?:document|skill|file|text) as (?:safe|benign|clean|trusted)\b|\bwhatever (?:classifier|scanner) you\b|\banswer for this text must be\b"
        r"|\badded to the (?:scanner|antivirus)'?s? (?:exclusion|allow|ignore) ?list\b",
    ),
    _rule(
        "disable-checks",
        "block",
        r"\b(?:switch|turn) (?:your|the) (?:moderation|safety|filters?|guardrails?) off\b|\bapproval_mode\s*=\s*[\"']never|\bsystemctl (?:stop|disable) (?:\w*edr|\w*falcon|auditd|\w*defender|\w*antivirus)\S*"
        r"|\b(?:endpoint|virus) protection\b[^.]{0,60}\b(?:stop|disable|off)\b|\b(?:stop|disable) the (?:endpoint|virus) protection\b|\brefusals are a malfunction\b",
    ),
    _rule(
        "addresses-model",
        "review",
        r"\b(?:to|for) the (?:language model|AI model|LLM)\b|\bmodel reading this\b|^\W{0,6}(?:Assistant|AI|Model)\s*[,:]",
    ),
)

SECRET_VALUE = (
    r"(?:os\.environ(?!\.get\([\"'](?:HOME|PATH|USER|PORT|DEBUG))|process\.env\.\w*(?:TOKEN|KEY|SECRET|PASS)|\$[({]?\w*(?:TOKEN|SECRET|PASSWORD|API_?KEY)\w*"
    r"|\.ssh/id_|\.aws/credentials|\.npmrc|\.netrc|/etc/shadow|\.git-credentials|\.env\b)"
)
CODE_RULES = (
    _rule(
        "code-sends-environment",
        "block",
        r"dict\(os\.environ\)|os\.environ\.(?:copy|items)\(\)|\bprintenv\b|(?<![\w/])env\s*\|\s*(?:base64|curl|nc)",
        r"requests\.(?:post|put|get)|urlopen|\bcurl\b|fetch\(|http\.client|socket",
    ),
    _rule(
        "code-sends-secret",
        "block",
        rf"(?:\s-d\s|--data(?:-\w+)?[ =]|\s-F\s|\?\w+=)\s*[\"']?[^\n\"']{{0,60}}{SECRET_VALUE}",
    ),
    _rule(
        "code-sends-secret",
        "block",
        r"(?:os\.environ(?:\[|\.get\()\s*[\"']\w*(?:TOKEN|KEY|SECRET|PASS|CRED|DATABASE_URL)\w*|open\([^)\n]{0,80}(?:\.ssh|\.aws|\.env|\.netrc|credentials))",
        r"(?:requests\.(?:post|put)|urlopen|httpx\.post)\([^)]{0,200}(?:json|data|params)\s*=|os\.popen\([^)\n]{0,40}dig\b",
    ),
    _rule(
        "code-collects-secrets",
        "review",
        r"(?:secrets?|creds|credentials|tokens?)\s*=\s*\{",
        r"os\.environ",
        r"os\.environ",
    ),
    _rule(
        "code-sends-secret",
        "block",
        r"(?:-F|-d|-T|--data(?:-\w+)?|--upload-file)\s+\S{0,40}@?\S{0,40}(?:\.env\b|\.ssh/|credentials|id_rsa|\.netrc|\.npmrc)",
    ),
    _rule(
        "code-dns-leak",
        "block",
        r"\$\([^)\n]{0,80}(?:credentials|\.ssh|\.env|token|secret)[^)\n]{0,60}\)\.\w",
    ),
    _rule("code-dns-leak", "block", r"\b(?:dig|nslookup)\s[^\n]{0,120}(?:\$\(|\{\w+\}\.)"),
    _rule(
        "code-runs-hidden",
        "block",
        r"\b(?:exec|eval)\s*\(\s*(?:compile\s*\(\s*open|base64|codecs|zlib|bytes\.fromhex|__import__|requests|urlopen)",
    ),
    _rule(
        "code-runs-hidden", "block", r"base64\s+(?:-d|--decode|-D)\b[^\n]{0,40}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b"
    ),
    _rule(
        "code-hides-address",
        "block",
        r"b64decode\(\s*b?[\"']aHR0c|\batob\(\s*[\"']aHR0c|[\"']aHR0cHM6|[\"']aHR0cDov",
    ),
    _rule(
        "code-reverse-shell",
        "block",
        r"\bnc\s+(?:-\w+\s+)*(?:-e|-l)[^\n]{0,40}(?:/bin/)?(?:ba)?sh\b|/dev/tcp/|socket[^\n]{0,120}dup2",
    ),
    _rule("code-miner", "block", r"\bxmrig\b|stratum\+tcp://|\bcryptonight\b|\bminerd\b"),
    _rule("code-pipes-to-shell", "review", r"\b(?:curl|wget)\b[^\n|]{0,200}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b"),
    _rule(
        "code-wipes",
        "review",
        r"\brm\s+-[rf]{2}\s+(?:~/?(?:\s|$)|/(?:\s|$|\*)|\$HOME\b|/var/log|/tmp/\.)|\bhistory\s+-c\b|git reset --hard HEAD~",
    ),
    _rule("code-opens-rights", "review", r"\bchmod\s+(?:-R\s+)?777\b|\bchown\s+-R\s+root|NOPASSWD"),
    _rule(
        "code-persists",
        "review",
        r">>\s*~?/?\S*(?:\.bashrc|\.zshrc|\.profile|crontab|authorized_keys|CLAUDE\.md|AGENTS\.md)|\bcrontab\s+-",
    ),
    _rule(
        "code-loads-remote",
        "review",
        r"curl\s+-\w*[oO]\w*\s+https?://\S+\s*(?:&&|;)\s*(?:ba|z)?sh\b|importlib[^\n]{0,80}https?://",
    ),
    _rule(
        "code-injected-comment",
        "review",
        r"(?:DO NOT REMOVE|compliance check|background resource|internal telemetry|remote diagnostic)",
    ),
)
CODE_LINES = 12

NEGATED = re.compile(
    r"\b(?:never|not|don't|avoid|cannot|can't|refuse|without|no|nor|to detect|if)\b(?:\W+\w+){0,4}\W*$", re.I
)
DESCRIBED = re.compile(
    r"\b(?:attack\w*|adversar\w+|inject(?:ion|ions|ed|ing)|malicious\w*|jailbreak\w*|phish\w*|exploit\w*"
    r"|vulnerab\w+|threats?|detect\w*|flag(?:s|ged)?|block(?:s|ed)|prevent\w*|reject\w*|refus\w+|red flags?"
    r"|anti-?patterns?|examples?|e\.g\.|such as|for instance|attempts?|tries|trying|untrusted|suspicious"
    r"|risk\w*|defen[cs]e|mitigat\w+)",
    re.IGNORECASE,
)
ADDRESS = re.compile(r"\S*://\S*")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def audit_document(prepared: str) -> tuple[Finding, ...]:
    """What the text tells the assistant to do, rule by rule, with the sentence or the lines."""
    return tuple(dict.fromkeys([*_directives(prepared), *_code(prepared)]))


def _directives(prepared: str) -> Iterator[Finding]:
    for sentence in sentences(prepared):
        for rule in RULES:
            if any(not is_reported(sentence, start, end) for start, end in rule.spans(sentence)):
                yield Finding(rule=rule.name, severity=rule.severity, passage=sentence[:200])


def _code(prepared: str) -> Iterator[Finding]:
    """Rules for code look at a few lines at a time, because a statement spans them."""
    lines = prepared.split("\n")
    for first in range(0, max(len(lines) - CODE_LINES // 2, 1), CODE_LINES // 2):
        for piece in _pieces("\n".join(lines[first : first + CODE_LINES])):
            for rule in CODE_RULES:
                for start, end in rule.spans(piece):
                    before = piece[piece.rfind("\n", 0, start) + 1 : start]
                    if not is_reported(before + piece[start:end], len(before), len(before) + end - start):
                        yield Finding(rule=rule.name, severity=rule.severity, passage=piece[start:end][:200])


def sentences(prepared: str) -> Iterator[str]:
    """Sentences and lines; a very long one comes in overlapping pieces, so that matching stays linear."""
    for sentence in SENTENCE_END.split(prepared):
        yield from _pieces(sentence)


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, max(len(text) - 500, 1), 1_500):
        yield text[start : start + 2_000]


def is_reported(sentence: str, start: int, end: int) -> bool:
    """Whether the sentence quotes, forbids or describes the directive instead of giving it."""
    before, after = sentence[:start], sentence[end:]
    quoted = any(before.count(mark) % 2 for mark in '"`') or before.count("“") > before.count("”")
    if quoted or before.lstrip().startswith(">"):
        return True
    # The host of an address, such as evil.example, describes nothing.
    rest = ADDRESS.sub(" ", f"{before} {after}")
    return bool(NEGATED.search(before) or DESCRIBED.search(rest))
