"""Git repositories: one shallow commit in the user's cache, fetched by the `git` command.

Only the file, https and ssh protocols; no hooks, no submodules, no questions on the terminal.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
from pathlib import Path

from pydantic import ValidationError

from pickysteve.errors import SourceInvalid, SourceUnavailable
from pickysteve.registry.slugs import plain_slug, plain_words
from pickysteve.registry.sources.kinds import PROTOCOLS, SCHEME, SHORT_SSH, GitSource, at_home

__all__ = ["fetch_repository", "parse_repository"]

MAX_SECONDS = 300
SSH = {"GIT_SSH", "GIT_SSH_COMMAND"}
# git's own programs may be told by a configuration or an attribute to run others
QUIET = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.autocrlf": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "filter.lfs.smudge": "",
    "filter.lfs.process": "",
    "filter.lfs.required": "false",
    "gc.auto": "0",
    "advice.detachedHead": "false",
}


def parse_repository(spec: str) -> GitSource:
    """Read PATH_OR_URL[#subfolder][@rev]; a rev with a slash in it is safest behind a #.

    Raises SourceInvalid for another protocol, a rev that is none, or a subfolder outside.
    """
    url, mark, rest = spec.partition("#")
    subfolder, _, rev = rest.partition("@")
    if not mark:
        url, rev = _without_rev(url)
    if url and not SCHEME.match(url) and at_home(url).is_dir():
        url = str(at_home(url).resolve())
    name = re.sub(r"\.git/?$", "", url).rstrip("/").rpartition("/")[2]
    given = {"url": url, "subfolder": subfolder.strip("/"), "rev": rev}
    try:
        return GitSource(name=plain_slug(name, otherwise="repository"), **given)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0])
        reason = str(first["ctx"]["error"]) if "ctx" in first else first["msg"]
        raise SourceInvalid(
            f'The {field} "{_shown(given[field])}" does not fit ({reason}): correct it.'
        ) from error


def _shown(value: str) -> str:
    """Without what may be a password."""
    return re.sub(r"//[^/]*@", "//...@", value)


def _without_rev(text: str) -> tuple[str, str]:
    """The last @ parts off a rev, unless it belongs to the host or the whole is a path that is there."""
    scheme = SCHEME.match(text)
    start = text.find("/", scheme.end()) if scheme else text.find(":") if SHORT_SSH.fullmatch(text) else 0
    at = text.rfind("@")
    if start < 0 or at <= start or text[at - 1] == "/" or at_home(text).exists():
        return text, ""
    return text[:at], text[at + 1 :]


def fetch_repository(source: GitSource) -> str:
    """Fetch one commit and put its files in place of what was fetched before; returns the commit's id.

    Raises SourceUnavailable when git is missing or cannot fetch it; the old files then stay.
    """
    target = source.checkout
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        draft.mkdir(parents=True)
        _git(draft, source, "init", "--quiet", "--template=")
        _git(draft, source, *_fetch(source))
        _git(draft, source, "checkout", "--quiet", "--detach", "FETCH_HEAD")
        commit = _git(draft, source, "rev-parse", "HEAD").strip()
        _check_subfolder(draft, source)
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
    except OSError as error:
        raise SourceUnavailable(
            f'"{target}" cannot be written ({error.strerror}): free that place.'
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return commit


def _check_subfolder(root: Path, source: GitSource) -> None:
    folder = root / source.subfolder
    if not folder.exists():
        raise SourceUnavailable(f'{source.url} has no "{source.subfolder}": name a folder that it has.')
    # a symlink of the repository's own may lead anywhere
    if not folder.resolve().is_relative_to(root.resolve()):
        raise SourceUnavailable(
            f'"{source.subfolder}" of {source.url} leads outside it: name another folder.'
        )


def _fetch(source: GitSource) -> tuple[str, ...]:
    options = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules")
    return ("fetch", *options, "--", source.url, source.rev or "HEAD")


def _git(folder: Path, source: GitSource, *words: str) -> str:
    """Run git and return what it printed."""
    settings = [part for key, value in QUIET.items() for part in ("-c", f"{key}={value}")]
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and every word is ours or checked
            ["git", *settings, *words],  # noqa: S607 - the user's own git
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=MAX_SECONDS,
            # without a terminal of its own ssh cannot ask for a password either
            start_new_session=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise SourceUnavailable("There is no git command: install git, and try again.") from error
    except subprocess.TimeoutExpired as error:
        raise SourceUnavailable(
            f"git took over {MAX_SECONDS} seconds for {source.url}: fetch it by hand, and ingest the folder."
        ) from error
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if line.strip()), "it gave no reason")
        raise SourceUnavailable(
            f"git cannot fetch {source.url}{f' at {source.rev}' if source.rev else ''}"
            f" ({plain_words(said, 300)}): check the address, the rev and your access to it."
        )
    return done.stdout


def _environment() -> dict[str, str]:
    # the GIT_DIR of a hook that runs us must not send git elsewhere
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in SSH}
    return {
        **kept,
        "GIT_ALLOW_PROTOCOL": ":".join(PROTOCOLS),
        "GIT_ASKPASS": "",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "SSH_ASKPASS_REQUIRE": "never",
        "LC_ALL": "C",
    }
