"""The page on settings says what the program does."""

import re
import tomllib
from pathlib import Path

from pydantic import BaseModel

import settings_doc
from croupier_server.settings import Settings, load_settings


def test_page_is_what_the_models_say() -> None:
    assert settings_doc.PATH.read_text(encoding="utf-8") == settings_doc.page()


def test_every_setting_is_explained() -> None:
    for section, part in Settings():
        assert isinstance(part, BaseModel)
        for name, field in type(part).model_fields.items():
            assert field.description, f"{section}.{name}"


def test_examples_of_the_page_are_accepted(tmp_path: Path) -> None:
    examples = re.findall(r"```toml\n(.*?)```", settings_doc.HEAD, re.DOTALL)
    assert examples
    for number, example in enumerate(examples):
        path = tmp_path / f"{number}.toml"
        path.write_text(example, encoding="utf-8")
        assert tomllib.loads(example)
        load_settings(path)
