"""A program as a page: one file that works offline and computes everything in the browser."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files

from counterplan.program.export.document import PagePart, details, filled, items, page, pairs, table
from counterplan.program.export.drawing import drawing
from counterplan.program.export.form import FormSource
from counterplan.program.export.model_card_summary import counted, groups, limits, listed, making, summary, used
from counterplan.program.export.reasons import reasons
from counterplan.program.export.resolved import program_data
from counterplan.program.export.svg import drawing_style, figure
from counterplan.program.parts import Leaf, Tree, leaves
from counterplan.program.protocol import ProgramLike
from counterplan.program.text import program_text

_LEAD = (
    "Describe your situation and what you cannot change. You get the steps to take, in order, each with its effort and "
    "its reason."
)


def to_html(program: ProgramLike) -> str:
    """The page as text. Its security policy allows no network and only its own code, by hash; all text is escaped."""
    return page([program_part(program)])


def program_part(program: ProgramLike) -> PagePart:
    """What a page shows of a program."""
    assets = files(__package__) / "page"
    texts, reached = reasons(program), drawing(program).nodes
    return PagePart(
        key="program",
        tab="By rules",
        lead=_LEAD,
        form=FormSource(program, used(program), _thresholds(program)),
        reached=[name in reached for name in program.nodes[1:]],
        data=program_data(program) | {"reasons": [texts.get(name, []) for name in program.nodes]},
        sections=filled(assets / "picture.html", {"counted": counted(program), "drawing": figure(program)}),
        about=filled(assets / "about_program.html", _about(program)),
        style=drawing_style(),
        scripts=[assets / "rules.js", assets / "rules_view.js"],
    )


def _about(program: ProgramLike) -> dict[str, str]:
    """How a program works and performs, its limitations and its listing."""
    needed = used(program)
    unused = [f.label for f in program.problem.features if f not in needed and not f.protected]
    return {
        "rules": _rules(program),
        "unused": f"<p>It does not ask about {escape(listed(unused))}.</p>" if unused else "",
        "limits": items(limits(program)),
        "about": pairs(summary(program)),
        "groups": "".join(table(*group) for group in groups(program)),
        "making": details("How it was made", pairs(making(program))),
        "listing": escape(program_text(program.problem, program.trees)),
    }


def _rules(program: ProgramLike) -> str:
    """The number of rules in words."""
    count = sum(1 for tree in program.trees.values() for _ in leaves(tree))
    return "1 plain rule" if count == 1 else f"{count:,} plain rules"


def _thresholds(program: ProgramLike) -> Mapping[int, list[float]]:
    """The thresholds of each feature."""
    found: dict[int, list[float]] = {}
    waiting: list[Tree] = list(program.trees.values())
    while waiting:
        tree = waiting.pop()
        if isinstance(tree, Leaf):
            continue
        if tree.test.at_least is not None:
            found.setdefault(tree.test.feature, []).append(tree.test.at_least)
        waiting += [tree.yes, tree.no]
    return found
