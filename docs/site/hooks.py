"""Pages of the site from outside docs/: changelog, contributing, linked files, and notebooks."""

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
OTHER_PAGES = "Explanation"
_ADDRESSES = {path: name for name, path in PAGES.items()}
_OUTSIDE = re.compile(r"\]\(\.\./([^)#]+)\)")
_INSIDE = re.compile(r"\]\(docs/([^)]+)\)")
_NOTEBOOK = re.compile(r"\]\(([\w./-]+)\.ipynb\)")
_GALLERY_ENTRY = re.compile(r"^## \[(.+)\]\((\w+)\.ipynb\)\n\n(?:.+\n)+", re.MULTILINE)


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
    for name, path in {**PAGES, **{f"files/{path}": path for path in linked - set(_ADDRESSES)}}.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    notebooks = _notebooks()
    for script in (notebooks.SCRIPT, *notebooks.GALLERY):
        made = json.loads(script.with_suffix(".ipynb").read_text("utf-8"))
        address = f"{script.parent.name}/{script.stem}"
        files.append(File.generated(config, f"{address}.md", content=notebooks.page(made, script.stem)))
        for name, image in notebooks.images(made, script.stem).items():
            files.append(File.generated(config, f"{script.parent.name}/{name}", content=image))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite links to and from these files, which lead to files of the repository; show figures in the gallery."""
    name = page.file.src_uri
    if name in PAGES:
        return _INSIDE.sub(r"](\1)", markdown)
    if page.file.generated_by is not None:  # the page of a notebook, which links to the notebook itself
        return markdown
    if name == "gallery/index.md":
        markdown = _GALLERY_ENTRY.sub(r"\g<0>\n![\1](\2-1.png)\n", markdown)
    if "/" not in name:
        markdown = _OUTSIDE.sub(lambda link: f"]({_ADDRESSES.get(link[1], f'files/{link[1]}')})", markdown)
    return _NOTEBOOK.sub(r"](\1.md)", markdown)


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
