import pytest

from pickysteve.errors import RegistryMissing, SuiteInvalid
from pickysteve.flows.suite_table import choose_suites, dataset_digest, read_table, suite_table

GOOD = '[one]\nregistry = "skills"\nsuite = "one.jsonl"\n[two]\nregistry = "skills"\nsuite = "two.jsonl"\n'


def table(tmp_path, text):
    path = tmp_path / "suites.toml"
    path.write_text(text)
    return path


def test_places_are_relative_to_the_table(tmp_path):
    entries = read_table(table(tmp_path, GOOD))
    assert list(entries) == ["one", "two"]
    assert entries["one"].registry == tmp_path.resolve() / "skills"


def test_suites_are_chosen_in_the_order_of_the_table(tmp_path):
    entries = read_table(table(tmp_path, GOOD))
    assert [entry.name for entry in choose_suites(entries, ["two", "one"])] == ["one", "two"]
    assert [entry.name for entry in choose_suites(entries, [])] == ["one", "two"]
    with pytest.raises(SuiteInvalid, match="did you mean two"):
        choose_suites(entries, ["tow"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[one", "TOML"),
        ('[one]\nregistry = "r"\n', "suite one: suite"),
        ("one = 1\n", "suite one"),
        ('["O ne"]\nregistry = "r"\nsuite = "s"\n', "name"),
        (GOOD + "at_least = { top1_pick = 0.5 }\n", "did you mean top1_picked"),
        (GOOD + "at_most = { stages = 0.5 }\n", "no figure stages"),
    ],
)
def test_a_wrong_table_is_told_by_entry(tmp_path, text, said):
    with pytest.raises(SuiteInvalid, match=said):
        read_table(table(tmp_path, text))


def test_a_missing_table_says_where_to_run(tmp_path):
    with pytest.raises(SuiteInvalid, match="--table"):
        read_table(tmp_path / "nowhere.toml")


def test_the_digest_changes_with_the_suite_and_with_every_skill(tmp_path):
    (entry, _) = choose_suites(read_table(table(tmp_path, GOOD)), [])
    with pytest.raises(SuiteInvalid, match="cannot be read"):
        dataset_digest(entry)
    (tmp_path / "one.jsonl").write_text("{}\n")
    with pytest.raises(RegistryMissing):
        dataset_digest(entry)
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "a.md").write_text("one")
    first = dataset_digest(entry)
    (tmp_path / "skills" / "PROVENANCE.txt").write_text("no skill")
    assert dataset_digest(entry) == first
    (tmp_path / "skills" / "a.md").write_text("two")
    second = dataset_digest(entry)
    (tmp_path / "one.jsonl").write_text("{ }\n")
    assert len({first, second, dataset_digest(entry)}) == 3


def test_the_table_of_the_checkout_names_data_that_is_there():
    for entry in choose_suites(read_table(suite_table()), []):
        assert len(dataset_digest(entry)) == 64
