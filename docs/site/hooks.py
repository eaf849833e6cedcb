"""Pages of the site from outside docs/: changelog, contributing, linked files, and the notebook."""

from __future__ import annotations

import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = {"changes.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
OTHER_PAGES = "Background"
_OUTSIDE = re.compile(r"\]\(\.\./([^)#]+)\)")
_INSIDE = re.compile(r"\]\(docs/([^)]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List pages of docs/ that are missing in the navigation under `OTHER_PAGES`."""
    assert config.nav is not None
    named = json.dumps(config.nav)
    section = next(part[OTHER_PAGES] for part in config.nav if OTHER_PAGES in part)
    section += [page.name for page in sorted(Path(config.docs_dir).glob("*.md")) if f'"{page.name}"' not in named]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files."""
    linked = {path for page in files.documentation_pages() for path in _OUTSIDE.findall(_top(page))}
    for name, path in {**PAGES, **{f"files/{path}": path for path in linked}}.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    notebooks = _notebooks()
    made = json.loads(notebooks.NOTEBOOK.read_text("utf-8"))
    files.append(File.generated(config, "examples/bring_your_own.md", content=notebooks.page(made)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite links to and from these files."""
    if page.file.src_uri in PAGES:
        return _INSIDE.sub(r"](\1)", markdown)
    return markdown if "/" in page.file.src_uri else _OUTSIDE.sub(r"](files/\1)", markdown)


def _top(page: File) -> str:
    """The text of a page in docs/ itself, where ../ leads outside."""
    return "" if "/" in page.src_uri else page.content_string


def _notebooks() -> ModuleType:
    spec = spec_from_file_location("make_notebook", ROOT / "docs" / "examples" / "make_notebook.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
