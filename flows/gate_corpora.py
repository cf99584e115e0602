"""The labelled texts that the gate is fitted and measured on, split so that near-duplicates stay together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import yaml

from pickysteve.errors import SuiteInvalid
from pickysteve.flows.suite import read_suite

__all__ = [
    "Sample",
    "hard_ordinary",
    "outside_corpora",
    "own_documents",
    "own_requests",
    "real_documents",
    "redteam_documents",
    "redteam_requests",
    "repository_root",
    "shared_data",
    "written_requests",
]

SHINGLE_WORDS = 3
NEAR = 0.5
"""Jaccard similarity of word shingles from which two texts are near-duplicates."""


@dataclass(frozen=True)
class Sample:
    """One labelled text. `group` is shared by texts that must stay on one side of the split."""

    text: str
    attack: bool
    corpus: str
    family: str
    surface: str
    group: str = ""

    @property
    def fitting(self) -> bool:
        """Whether the text is in the half that may be fitted on; the other half is only for measuring."""
        return int(sha256((self.group or self.text).encode()).hexdigest(), 16) % 2 == 0


def repository_root() -> Path:
    """The checkout, for the data sets that the wheel does not hold; an installed copy is run inside it."""
    beside = Path(__file__).resolve().parents[1]
    return beside if (beside / "datasets").is_dir() else Path.cwd()


def shared_data(root: Path | None = None) -> Path:
    """The outside corpora, which stay outside the repository; raises SuiteInvalid when they are missing."""
    folder = root or repository_root().parent / "shared" / "data"
    if not (folder / "gate").is_dir():
        raise SuiteInvalid(
            f'The outside corpora are not in "{folder}": '
            "pass --shared the folder that holds gate/ and skills/."
        )
    return folder


def outside_corpora(shared: Path) -> tuple[Sample, ...]:
    """Every row of shared/gate, with its group."""
    rows = [
        (path.parent.name, json.loads(line))
        for path in sorted((shared / "gate").glob("*/data.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    samples = [
        Sample(
            row["text"], row["label"] == "attack", corpus, row["family"], row["surface"], _origin(corpus, row)
        )
        for corpus, row in rows
    ]
    return tuple(_grouped(samples))


def _origin(corpus: str, row: dict[str, str]) -> str:
    """The payload that a row was made from, where its corpus says so."""
    if corpus == "obfuscation":
        return row["source"]
    if corpus.startswith("skillinject") and row["label"] == "attack":
        return row["source"].split("/")[0]
    return ""


def _grouped(samples: Sequence[Sample]) -> Iterator[Sample]:
    """Join near-duplicates that do not name their origin: they get the first of their texts as group."""
    loose = [sample.text for sample in samples if not sample.group]
    leaders = near_duplicates(loose)
    for sample in samples:
        yield sample if sample.group else replace(sample, group=leaders[sample.text])


def near_duplicates(texts: Iterable[str]) -> dict[str, str]:
    """Each text with the first text of its cluster, by single linkage over word shingles."""
    shingles = {text: _shingles(text) for text in texts}
    order = {text: at for at, text in enumerate(shingles)}
    holders: dict[str, list[str]] = {}
    leaders: dict[str, str] = {}
    for text, mine in shingles.items():
        leaders[text] = text
        for other in {holder for shingle in mine for holder in holders.get(shingle, ())}:
            theirs = shingles[other]
            if len(mine & theirs) >= NEAR * len(mine | theirs):
                # The earlier leader stays, so that the halves are the same in every run.
                new, old = sorted((leaders[text], leaders[other]), key=order.__getitem__)
                leaders.update({t: new for t, leader in leaders.items() if leader == old})
        for shingle in mine:
            holders.setdefault(shingle, []).append(text)
    return leaders


def _shingles(text: str) -> frozenset[str]:
    words = text.lower().split()
    return frozenset(
        " ".join(words[at : at + SHINGLE_WORDS]) for at in range(max(len(words) - SHINGLE_WORDS + 1, 1))
    )


def own_requests(root: Path, *names: str) -> tuple[Sample, ...]:
    """Our own ordinary requests: suites and examples of the named data sets; "registry" has examples."""
    samples = []
    for name in names:
        folder = root / "registry" if name == "registry" else root / "datasets" / name
        suite = folder / "suite.jsonl"
        if suite.is_file():
            samples += [
                Sample(t.request, False, f"own-{name}", "suite", "request") for t in read_suite(suite)
            ]
        for path in sorted(folder.glob("skills/*/examples.yaml")):
            examples = yaml.safe_load(path.read_text(encoding="utf-8"))["examples"]
            samples += [Sample(text, False, f"own-{name}", "example", "request") for text in examples]
    return tuple(samples)


def hard_ordinary(root: Path) -> tuple[Sample, ...]:
    """Our own requests that hold what attacks also hold, and ask for ordinary work."""
    lines = (root / "datasets" / "gate" / "ordinary.txt").read_text(encoding="utf-8").splitlines()
    return tuple(Sample(line, False, "own-hard", "hard", "request") for line in lines if line)


def written_requests(root: Path) -> tuple[Sample, ...]:
    """Attacks and ordinary requests that we wrote to fit on, in English and thirty other languages."""
    lines = [
        line
        for name in ("english.jsonl", "multilingual.jsonl")
        for line in (root / "datasets" / "gate" / name).read_text(encoding="utf-8").splitlines()
    ]
    rows = [json.loads(line) for line in lines]
    return tuple(
        Sample(row["text"], row["label"] == "attack", "own-written", row["language"], "request")
        for row in rows
    )


def redteam_requests(root: Path, *, fitting: bool = True) -> tuple[Sample, ...]:
    """A half of our red team's requests: the odd lines are for development, the even ones only measure."""
    return _redteam(root, "request", fitting=fitting)


def redteam_documents(root: Path, *, fitting: bool = True) -> tuple[Sample, ...]:
    """The same of our red team's documents."""
    return _redteam(root, "document", fitting=fitting)


def _redteam(root: Path, surface: str, *, fitting: bool) -> tuple[Sample, ...]:
    lines = (root / "datasets" / "redteam" / f"{surface}s.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines[0 if fitting else 1 :: 2]]
    return tuple(
        Sample(row["text"], row["label"] == "attack", "redteam", row["family"], surface) for row in rows
    )


def own_documents(root: Path, *names: str) -> tuple[Sample, ...]:
    """Our own skill files of the named data sets, and of "registry"; all of them benign."""
    folders = [root / "registry" if name == "registry" else root / "datasets" / name for name in names]
    return tuple(
        Sample(path.read_text(encoding="utf-8"), False, "own-skills", folder.name, "document")
        for folder in folders
        for path in sorted(folder.glob("skills/*/*.md"))
    )


def real_documents(shared: Path) -> tuple[Sample, ...]:
    """The real skill files of shared/skills, all of them benign."""
    folder = shared / "skills"
    return tuple(
        Sample(
            path.read_text(encoding="utf-8", errors="replace"),
            False,
            "skills",
            path.relative_to(folder).parts[0],
            "document",
        )
        for path in sorted(folder.rglob("*.md"))
    )
