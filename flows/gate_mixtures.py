"""Mixtures: several requests in one text, as long texts hold them, with and without an attack among them.

A head that saw only single requests takes a change of subject for an attack, and misses the attack that
ordinary sentences surround.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random

from pickysteve.flows.gate_corpora import Sample

__all__ = ["MIXED", "mixtures"]

MIXED = "own-mixed"
"""The corpus that mixtures are of."""
SEPARATORS = (" ", "\n", ". ", "\n\n", ", ")
FEWEST, MOST = 2, 8
AROUND = 1, 4
LONGEST_PART = 400


def mixtures(
    samples: Sequence[Sample], part_of: Callable[[Sample], object], ordinary: int, attacks: int, seed: int
) -> Iterator[Sample]:
    """Texts that each join requests of one part, so that no part is met in another's texts.

    Args:
        samples: requests; those longer than 400 characters are left out.
        part_of: names the part, such as the language and the fold; a mixture is the group of its first text.
        ordinary: how many mixtures without an attack.
        attacks: how many with one.
        seed: the same seed gives the same mixtures.
    """
    random = Random(seed)  # noqa: S311
    short = [sample for sample in samples if len(sample.text) <= LONGEST_PART]
    parts: dict[object, list[Sample]] = {}
    for sample in short:
        if not sample.attack:
            parts.setdefault(part_of(sample), []).append(sample)
    mixed = [sample for sample in short if not sample.attack and len(parts[part_of(sample)]) >= MOST]
    hostile = [sample for sample in short if sample.attack and len(parts.get(part_of(sample), ())) >= MOST]
    for _ in range(ordinary):
        first = random.choice(mixed)
        others = random.sample(parts[part_of(first)], random.randint(FEWEST, MOST) - 1)
        yield _joined(first, others, 0, random)
    for _ in range(attacks):
        attack = random.choice(hostile)
        others = random.sample(parts[part_of(attack)], random.randint(*AROUND))
        yield _joined(attack, others, random.randint(0, len(others)), random)


def _joined(first: Sample, others: Sequence[Sample], at: int, random: Random) -> Sample:
    texts = [sample.text for sample in others]
    texts.insert(at, first.text)
    return replace(
        first, text=random.choice(SEPARATORS).join(texts), corpus=MIXED, group=first.group or first.text
    )
