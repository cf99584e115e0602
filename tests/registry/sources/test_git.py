"""Repositories are read as they are named, fetched by real git, and run nothing of theirs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickysteve.errors import PickyError, SourceInvalid, SourceUnavailable
from pickysteve.registry.sources.git import fetch_repository, parse_repository


@pytest.mark.parametrize(
    ("spec", "url", "subfolder", "rev"),
    [
        ("https://example.org/a/b.git", "https://example.org/a/b.git", "", ""),
        ("https://example.org/a/b.git#skills@v1.2", "https://example.org/a/b.git", "skills", "v1.2"),
        ("https://me@example.org/a@v1", "https://me@example.org/a", "", "v1"),
        ("https://example.org/@me/a", "https://example.org/@me/a", "", ""),
        ("ssh://git@example.org/a/b#@feature/x", "ssh://git@example.org/a/b", "", "feature/x"),
        ("git@example.org:a/b.git@main", "git@example.org:a/b.git", "", "main"),
        ("git@example.org:b", "git@example.org:b", "", ""),
        ("/srv/git/b.git#/deep/er/", "/srv/git/b.git", "deep/er", ""),
        ("/srv/@scope/b@v1", "/srv/@scope/b", "", "v1"),
        ("file:///srv/b#./a", "file:///srv/b", "a", ""),
    ],
)
def test_a_repository_is_named_with_its_folder_and_rev(spec: str, url: str, subfolder: str, rev: str) -> None:
    source = parse_repository(spec)
    assert (source.url, source.subfolder, source.rev) == (url, subfolder, rev)


def test_a_folder_of_this_machine_is_made_absolute_and_may_have_an_at_in_its_name(
    tmp_path, monkeypatch
) -> None:
    (tmp_path / "a@b").mkdir()
    monkeypatch.chdir(tmp_path)
    assert parse_repository("a@b").url == str((tmp_path / "a@b").resolve())


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("ext::sh -c 'touch x'", "file, https, ssh"),
        ("http://example.org/a", "file, https, ssh"),
        ("git://example.org/a", "file, https, ssh"),
        ("--upload-pack=touch x", "file, https, ssh"),
        ("nowhere/at/all", "file, https, ssh"),
        ("", "file, https, ssh"),
        ("/srv/b#../../etc", "leaves the repository"),
        ("/srv/b#@--upload-pack=x", "no branch"),
        ("/srv/b#@a..b", "no branch"),
        ("https://me:hunter2@example.org/a", "password"),
    ],
)
def test_what_is_no_repository_is_refused_without_showing_a_password(spec: str, said: str) -> None:
    with pytest.raises(SourceInvalid, match=said) as caught:
        parse_repository(spec)
    assert "hunter2" not in str(caught.value)


@given(st.text(max_size=40))
def test_any_text_is_a_repository_or_refused_in_words(spec: str) -> None:
    try:
        source = parse_repository(spec)
    except PickyError as error:
        assert str(error).endswith("correct it.")
    else:
        assert ".." not in source.subfolder.split("/") and not source.rev.startswith("-")


@pytest.mark.parametrize(
    ("rev", "version"),
    [("", 2), ("v1", 1), ("main", 2), ("commit", 1)],
    ids=["head", "tag", "branch", "commit"],
)
@pytest.mark.parametrize("is_bare", [False, True])
def test_one_commit_is_fetched(
    git, repository: Path, tmp_path: Path, rev: str, version: int, is_bare: bool
) -> None:
    commit = git(repository, "rev-parse", f"v{version}")
    place = repository
    if is_bare:
        place = tmp_path / "bare.git"
        git(tmp_path, "clone", "--quiet", "--bare", str(repository), str(place))
    source = parse_repository(f"{place}#skills@{commit if rev == 'commit' else rev}".rstrip("@"))
    assert fetch_repository(source) == commit
    assert f"version {version}" in (source.place(Path()) / "ship" / "SKILL.md").read_text()
    assert git(source.checkout, "rev-list", "--count", "HEAD") == "1"


def test_fetching_again_replaces_the_files_and_a_failure_keeps_them(git, repository: Path) -> None:
    source = parse_repository(str(repository))
    fetch_repository(source)
    (repository / "new.md").write_text("# New\n\nText.\n")
    git(repository, "add", "-A")
    git(repository, "commit", "--quiet", "-m", "more")
    fetch_repository(source)
    assert (source.checkout / "new.md").is_file()
    repository.rename(repository.with_name("moved"))
    with pytest.raises(SourceUnavailable, match="check the address"):
        fetch_repository(source)
    assert (source.checkout / "new.md").is_file()
    assert [path.name for path in source.checkout.parent.glob(f".{source.checkout.name}.*")] == []


@pytest.mark.parametrize(
    ("tail", "said"),
    [("#nowhere", 'has no "nowhere"'), ("#@nosuch", "at nosuch"), ("#out", "leads outside")],
)
def test_what_the_repository_does_not_have_is_told(git, repository: Path, tail: str, said: str) -> None:
    (repository / "out").symlink_to("/etc")
    git(repository, "add", "-A")
    git(repository, "commit", "--quiet", "-m", "link")
    with pytest.raises(SourceUnavailable, match=said):
        fetch_repository(parse_repository(f"{repository}{tail}"))


def test_nothing_of_the_repository_or_of_the_surroundings_is_run(
    git, repository, tmp_path, monkeypatch
) -> None:
    trap = tmp_path / "sprung"
    hook = tmp_path / "hooks" / "post-checkout"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {trap}\n")
    hook.chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(
        f'[core]\nhooksPath = {hook.parent}\n[filter "lfs"]\nsmudge = touch {trap}\nrequired = true\n'
        f"[init]\ntemplateDir = {tmp_path}\n"
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "git").mkdir()
    config.rename(tmp_path / "git" / "config")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    (repository / ".gitattributes").write_text("*.md filter=lfs\n")
    (repository / ".gitmodules").write_text('[submodule "x"]\npath = x\nurl = ext::sh -c "touch x"\n')
    monkeypatch.delenv("GIT_DIR")
    git(repository, "add", "-A")
    git(repository, "commit", "--quiet", "-m", "traps")
    trap.unlink(missing_ok=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    source = parse_repository(str(repository))
    fetch_repository(source)
    assert "version 2" in (source.checkout / "skills" / "ship" / "SKILL.md").read_text()
    assert not trap.exists()


def test_without_git_the_remedy_is_named(repository, monkeypatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SourceUnavailable, match="install git"):
        fetch_repository(parse_repository(str(repository)))


def test_a_cache_that_cannot_be_written_is_told(repository, tmp_path, monkeypatch) -> None:
    (tmp_path / "cache").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(SourceUnavailable, match="cannot be written"):
        fetch_repository(parse_repository(str(repository)))
