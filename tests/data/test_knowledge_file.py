import pytest

from fedrcd.data.knowledge_file import read_knowledge
from fedrcd.errors import ConfigError, FileError
from fedrcd.graphs.knowledge.statements import Knowledge


def test_a_file_states_what_the_object_does(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text('tiers = [["age"], ["dose", "pain"]]\nrequired = [["dose", "pain"]]\nexogenous = ["age"]\n')
    expected = Knowledge(tiers=[["age"], ["dose", "pain"]], required=[("dose", "pain")], exogenous=["age"])
    assert read_knowledge(path) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('requires = [["a", "b"]]', "there is no key 'requires'; did you mean 'required'"),
        ('required = ["a"]', "each entry of required must be a list of names"),
        ("tiers = 1", "tiers must be a list of lists"),
    ],
)
def test_mistakes_name_the_file_and_the_key(tmp_path, text, words):
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as problem:
        read_knowledge(path)
    assert str(path) in str(problem.value)
    assert words in str(problem.value)


def test_a_file_that_is_not_there_or_not_toml_is_refused(tmp_path):
    (tmp_path / "broken.toml").write_text("tiers = [")
    for name in ("absent.toml", "broken.toml"):
        with pytest.raises(FileError, match=name):
            read_knowledge(tmp_path / name)
