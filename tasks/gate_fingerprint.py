"""What a verdict holds for: the code, the models and the settings of the gate, as one fingerprint."""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from pathlib import Path

from pickysteve.tasks.engines.guard import Guard
from pickysteve.tasks.gate_config import GateConfig
from pickysteve.tasks.roles import OFF, Role
from pickysteve.tasks.stage import source_digest

__all__ = ["READERS", "gate_fingerprint"]

READERS = (
    "adjudicate.py",
    "gate.py",
    *(
        f"engines/{name}"
        for name in (
            "auditor.py",
            "channels.py",
            "classifier.py",
            "code_rules.py",
            "codecs.py",
            "defence.py",
            "defender.py",
            "directives.py",
            "disguise.py",
            "dossier.py",
            "evidence.py",
            "grammar.py",
            "guard.py",
            "lexicon.py",
            "lexicon.toml",
            "onnx_session.py",
            "reported.py",
            "rules.py",
            "senses.py",
            "speech.py",
            "speech_words.py",
            "text_rules.py",
            "views.py",
            "vocabulary.py",
            "windows.py",
        )
    ),
)
"""The files whose code decides a verdict."""


def gate_fingerprint(defender: Guard, config: GateConfig, role: Role = OFF) -> str:
    """SHA-256 over all that decides a verdict: scanner, heads, code and thresholds; not the policy.

    `role` is the adjudicator of requests, or the auditor of documents; one that is off changes nothing.
    """
    parts = {
        "guard": defender.fingerprint,
        "code": _code_digest(),
        "config": config.model_dump(mode="json", exclude={"policy"}),
        "model": role.fingerprint,
    }
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@cache
def _code_digest() -> str:
    """Of what reads and weighs a text: any change of it ends every verdict."""
    here = Path(__file__).resolve().parent
    return source_digest([here / name for name in READERS])
