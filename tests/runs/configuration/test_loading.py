"""A configuration is refused with a sentence that names the right key, or resolves to a file that reads back
equal.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mckean.errors import Refused
from mckean.runs.configuration import loading, toml
from mckean.runs.configuration.config import field_names


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("training.step_sise=1", "did you mean training.step_size?"),
        ("trainin.step_size=1", "did you mean training.step_size?"),
        ("step_size=1", "did you mean training.step_size?"),
        ("model.temperature=1", "did you mean training.temperature?"),
        ("modle.heads=3", "did you mean model.heads?"),
        ("modle.hedas=3", "did you mean model.heads?"),
        ("modle.x=1", "there is no key modle.x; did you mean the section [model]? mckean show-config lists the keys."),
        ("training.steps", 'found "training.steps" without a value: write --set training.steps='),
        ("data.limit", "write --set data.limit=…."),
        ("data.name", 'write --set data.name="digits".'),
        ("qqq.zzz=1", "mckean show-config lists the keys"),
        ("model=3", "model is a section; name one of its keys: model.head, "),
        ("training.step_size", "must be section.field=value"),
        ("training.step_size=", 'training.step_size must be a number; found ""'),
        ("=3", "must be section.field=value"),
        ("training.step_size=-1", "training.step_size must be greater than 0; found -1"),
        ("training.step_size=inf", "training.step_size must be a finite number"),
        ("training.step_size=fast", 'training.step_size must be a number; found "fast"'),
        ("model.heads=12.5", "model.heads must be a whole number; found 12.5"),
        ("model.heads=true", "model.heads must be a whole number; found true"),
        ("model.heads=0", "model.heads must be at least 1; found 0"),
        ("model.head=softmx", 'model.head must be one of "softmax", "perceptron" or "block"; found "softmx"'),
        ("readout.trained=1", "readout.trained must be true or false; found 1"),
        ("data.name=3", "data.name must be a string; found 3"),
        ("data.held_out=1.0", "data.held_out must be less than 1; found 1.0"),
        ("training.steps=[1, 2]", "training.steps must be a whole number; found [1, 2]"),
        ("training.anneal=linear", "training.final_temperature must be set"),
        ("model.layers=4", "model.layers would do nothing"),
    ],
)
def test_a_wrong_override_is_refused_with_the_right_sentence(override: str, sentence: str) -> None:
    with pytest.raises(Refused) as refusal:
        loading.load("digits", (override,))
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (("training.dynamics=adam", "training.temperature=1e-3"), "training.temperature must be 0"),
        (("training.dynamics=langevin", "training.friction=2.0"), "training.friction would do nothing"),
        (("model.depth=layered", "model.steps=4", "model.layers=3"), "model.layers must divide model.steps"),
        (("model.head=softmax", "model.weight_std=1.0"), "model.weight_std would do nothing"),
        (("model.head=perceptron", "model.scale=one"), "model.scale would do nothing"),
        (("readout.trained=false", "readout.rate=2.0"), "readout.rate would do nothing"),
        (("training.anneal=exponential", "training.final_temperature=0.0"), "must be positive"),
        (
            ("training.anneal=linear", "training.final_temperature=0.0", "training.temperature=0.0"),
            "training.temperature must be positive",
        ),
        (("model.heads=0", "training.steps=x"), "training.steps must be a whole number"),
    ],
)
def test_overrides_that_do_not_fit_together_are_refused(overrides: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(Refused) as refusal:
        loading.load("digits", overrides)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[traning]\nsteps = 3", "there is no section [traning]; did you mean training?"),
        ("[training]\nstep = 3", "there is no key training.step; did you mean training.steps?"),
        ("[data]\npath = 'a.npz'", "there is no key data.path; did you mean data.name?"),
        ("[training]\nlr = 0.1", "there is no key training.lr; did you mean training.step_size?"),
        ("[model]\nstep_size = 0.1", "there is no key model.step_size; did you mean training.step_size?"),
        ("steps = 3", "there is no key steps; did you mean model.steps or training.steps?"),
        ("heads = 3", "there is no key heads; did you mean model.heads?"),
        ("sed = 3", "there is no key sed; did you mean seed?"),
        ("model = 3", "[model] must be a section"),
        ("[model]\nhead = 'softmax'\nbias_std = 1.0", "model.bias_std would do nothing"),
        ("[training]\nstep_size = nan", "training.step_size must be a finite number"),
        ("seed = -1", "seed must be at least 0"),
        ("[model", "must be TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_the_right_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(Refused) as refusal:
        loading.load(str(path))
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("digitz", "did you mean digits?"),
        ("nowhere.toml", "does not exist"),
        ("points.npz", 'name = "points.npz"'),
        (".", "cannot be read"),
    ],
)
def test_a_source_that_is_no_configuration_is_refused(source: str, sentence: str) -> None:
    with pytest.raises(Refused) as refusal:
        loading.load(source if source != "." else "./")
    assert sentence in str(refusal.value)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Refused, match="UTF-8"):
        loading.load(str(path))


def test_two_seeds_are_refused() -> None:
    with pytest.raises(Refused, match="given once"):
        loading.load("digits", ("seed=3",), seed=4)


@pytest.mark.parametrize("name", loading.examples())
@pytest.mark.parametrize("head", ["softmax", "perceptron", "block"])
def test_what_is_resolved_reads_back_equal(name: str, head: str) -> None:
    config = loading.load(name, (f"model.head={head}", "model.depth=layered", "model.steps=4", "model.layers=4"), seed=5)
    again = loading.from_text(loading.resolved(config), "config.toml")
    assert again == config
    assert loading.digest(again) == loading.digest(config)


def test_a_resolved_file_may_be_run_again(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(loading.resolved(loading.load("digits", ("model.head=softmax",))))
    assert loading.load(str(path)).model.head == "softmax"


def test_none_unsets_a_field() -> None:
    assert loading.load("digits", ("data.limit=10",)).data.limit == 10
    assert loading.load("digits", ("data.limit=10", "data.limit=none")).data.limit is None


def test_a_relative_data_path_is_relative_to_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[data]\nname = "points.npz"')
    assert loading.load(str(path)).data.name == str(tmp_path / "points.npz")
    assert Path(loading.anchored(loading.load("digits", ("data.name=a/b.npz",))).data.name).is_absolute()
    assert loading.anchored(loading.load("digits")).data.name == "digits"


def test_every_field_has_a_description() -> None:
    from mckean.runs.configuration.config import SECTIONS, Config

    assert Config.model_fields["seed"].description
    for section in SECTIONS:
        fields = type(getattr(Config(), section)).model_fields
        assert all(field.description and field.description.endswith(".") for field in fields.values())
    assert len(field_names()) == len(set(field_names()))


_scalars = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
)


# The first draw builds the table of characters, which can take longer than the limit on a busy machine.
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.dictionaries(st.sampled_from("abcd"), _scalars), st.dictionaries(st.sampled_from("xyz"), _scalars))
def test_written_toml_reads_back_equal_in_value_and_type(top: dict[str, toml.Scalar], section: dict[str, toml.Scalar]) -> None:
    read = tomllib.loads(toml.document(top, {"section": section}))
    assert read.pop("section") == section
    assert read == top
    assert [type(item) for item in read.values()] == [type(item) for item in top.values()]
