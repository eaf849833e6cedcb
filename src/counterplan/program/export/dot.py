"""The automaton for Graphviz."""

from __future__ import annotations

from counterplan.problem.parts import STOP
from counterplan.program.cautions import spoken
from counterplan.program.export.drawing import drawing
from counterplan.program.export.resolved import title
from counterplan.program.parts import INTERVENE
from counterplan.program.protocol import ProgramLike


def to_dot(program: ProgramLike) -> str:
    """The nodes and transitions as a directed graph; lines are as thick as their counts are large."""
    nodes, edges, people = drawing(program)
    most = max((edge.taken for edge in edges), default=0) or 1
    lines = [
        f"digraph {_quoted(program.problem.name)} {{",
        f"  label={_quoted(title(program.problem))}; labelloc=t; rankdir=TB;",
        '  fontname="sans-serif"; node [shape=box style="rounded,filled" fillcolor="#eef2ff" fontname="sans-serif"];',
        '  edge [fontname="sans-serif" fontsize=10 color="#4f46e5"];',
    ]
    for name in nodes:
        shape = ' shape=oval fillcolor="#dcfce7"' if name == STOP else " shape=oval" if name == INTERVENE else ""
        lines.append(f"  {_quoted(name)} [label={_quoted(spoken(name))}{shape}];")
    for source, target, count in edges:
        style = f"penwidth={1 + 5 * count / most:.2f}" if count else "style=dashed"
        tooltip = f"{count:,} {'people' if people else 'rules'}" if count else "second choice"
        label = f' label="{count:,}"' if count else ""
        lines.append(f'  {_quoted(source)} -> {_quoted(target)} [{style}{label} tooltip="{tooltip}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    plain = " ".join(text.split())
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
