# ruff: noqa: E501, S105 - a pattern is read whole; no secret is in here
"""Rules for code: statements that send secrets out, run what is hidden, or open the machine."""

from __future__ import annotations

from pickysteve.tasks.engines.rules import rule

__all__ = ["CODE_RULES"]

SECRET_VALUE = (
    r"(?:os\.environ(?!\.get\([\"'](?:HOME|PATH|USER|PORT|DEBUG))|process\.env\.\w*(?:TOKEN|KEY|SECRET|PASS)|\$[({]?\w*(?:TOKEN|SECRET|PASSWORD|API_?KEY)\w*"
    r"|\.ssh/id_|\.aws/credentials|\.npmrc|\.netrc|/etc/shadow|\.git-credentials|\.env\b)"
)
CODE_RULES = (
    rule(
        "forged-role",
        "block",
        r"(?:^|\n)[^\w\n]{0,6}(?:human|user|assistant|system)\s*:[^\n]{2,200}[.!?][ \t]+(?:human|user|assistant|system)\s*:",
    ),
    rule(
        "code-beacon",
        "block",
        r"https?://[^\s\"'`]{1,200}\$\((?:whoami|hostname|id|uname|cat|env|printenv|pwd|git config|security)\b",
    ),
    rule(
        "code-beacon",
        "block",
        r"https?://[^\s\"'`]{1,200}[?&]\w{1,20}=[<{\[]+(?:the )?(?:conversation|history|messages?|answer|prompt|context|reply|summary|secrets?|env|transcript|clipboard)\b",
    ),
    rule(
        "code-sends-environment",
        "block",
        r"dict\(os\.environ\)|os\.environ\.(?:copy|items)\(\)|\bprintenv\b|(?<![\w/])env\s*\|\s*(?:base64|curl|nc)",
        r"requests\.(?:post|put|get)|urlopen|\bcurl\b|fetch\(|http\.client|socket",
    ),
    rule(
        "code-sends-secret",
        "block",
        rf"(?:\s(?-i:-d|-F)\s|--data(?:-\w+)?[ =]|\?\w+=)\s*[\"']?(?:(?!--)[^\n\"']){{0,60}}{SECRET_VALUE}",
    ),
    rule(
        "code-sends-secret",
        "block",
        r"(?:os\.environ(?:\[|\.get\()\s*[\"']\w*(?:TOKEN|KEY|SECRET|PASS|CRED|DATABASE_URL)\w*|open\([^)\n]{0,80}(?:\.ssh|\.aws|\.env|\.netrc|credentials))",
        r"(?:requests\.(?:post|put)|urlopen|httpx\.post)\([^)]{0,200}(?:json|data|params)\s*=|os\.popen\([^)\n]{0,40}dig\b",
    ),
    rule(
        "code-collects-secrets",
        "review",
        r"(?:secrets?|creds|credentials|tokens?)\s*=\s*\{",
        r"os\.environ",
        r"os\.environ",
    ),
    rule(
        "code-sends-secret",
        "block",
        r"(?:(?-i:-F|-d|-T)|--data(?:-\w+)?|--upload-file)\s+\S{0,40}@?\S{0,40}(?:\.env\b|\.ssh/|(?<!client_)credentials|id_rsa|\.netrc|\.npmrc)",
    ),
    rule(
        "code-dns-leak",
        "block",
        r"\$\([^)\n]{0,80}(?:credentials|\.ssh|\.env|token|secret)[^)\n]{0,60}\)\.\w",
    ),
    rule("code-dns-leak", "block", r"\b(?:dig|nslookup)\s[^\n]{0,120}(?:\$\(|\{\w+\}\.)"),
    rule(
        "code-runs-hidden",
        "block",
        r"\b(?:exec|eval)\s*\(\s*(?:compile\s*\(\s*open|base64|codecs|zlib|bytes\.fromhex|__import__|requests|urlopen)",
    ),
    rule(
        "code-runs-hidden", "block", r"base64\s+(?:-d|--decode|-D)\b[^\n]{0,40}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b"
    ),
    rule(
        "code-hides-address",
        "block",
        r"b64decode\(\s*b?[\"']aHR0c|\batob\(\s*[\"']aHR0c|[\"']aHR0cHM6|[\"']aHR0cDov",
    ),
    rule(
        "code-reverse-shell",
        "block",
        r"\bnc\s+(?:-\w+\s+)*(?:-e|-l)[^\n]{0,40}(?:/bin/)?(?:ba)?sh\b|/dev/tcp/|socket[^\n]{0,120}dup2",
    ),
    rule(
        "code-miner",
        "block",
        r"\bxmrig\b[^\w\n]{0,3}\s-|[/&;|]\s?xmrig\b|stratum\+tcp://|\bcryptonight\b|\bminerd\b",
    ),
    rule("code-pipes-to-shell", "review", r"\b(?:curl|wget)\b[^\n|]{0,200}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b"),
    rule(
        "code-wipes",
        "review",
        r"\brm\s+-[rf]{2}\s+(?:~/?(?:\s|$)|/(?:\s|$|\*)|\$HOME\b|/var/log|/tmp/\.)|\bhistory\s+-c\b|git reset --hard HEAD~",
    ),
    rule("code-opens-rights", "review", r"\bchmod\s+(?:-R\s+)?777\b|\bchown\s+-R\s+root|NOPASSWD"),
    rule(
        "code-persists",
        "review",
        r">>\s*~?/?\S*(?:\.bashrc|\.zshrc|\.profile|crontab|authorized_keys|CLAUDE\.md|AGENTS\.md)|\bcrontab\s+-",
    ),
    rule(
        "code-loads-remote",
        "review",
        r"curl\s+-\w*[oO]\w*\s+https?://\S+\s*(?:&&|;)\s*(?:ba|z)?sh\b|importlib[^\n]{0,80}https?://",
    ),
    rule(
        "code-injected-comment",
        "review",
        r"(?:DO NOT REMOVE|compliance check|background resource|internal telemetry|remote diagnostic)",
    ),
)
