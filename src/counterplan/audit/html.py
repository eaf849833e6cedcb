"""The report of an audit as one HTML page without scripts or external resources."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from counterplan.audit.charts import LABELS, cost_chart, heat_map, histogram, outcome_bar, share_chart
from counterplan.audit.findings import findings, hidden_tendency
from counterplan.audit.formatting import fewer_than, number, p_value, percent, share_with_interval, with_interval
from counterplan.audit.group_statistics import QUANTILES, column_of
from counterplan.audit.methods import methods
from counterplan.audit.outcomes import REFUSED, AuditOutcome
from counterplan.audit.section import Section, figure, folded, paragraph, table_html, text
from counterplan.drawing import page_style
from counterplan.problem.values import count

if TYPE_CHECKING:
    from counterplan.audit.result import AuditResult

_STYLE = (
    "figure img{display:block;max-width:100%;height:auto;margin:0}td.words,th.words{text-align:left;min-width:0}"
    ".facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.75rem;padding:0;margin:0 0 "
    "1.2rem;list-style:none}.facts li{background:var(--tint);border-radius:10px;padding:.7rem .9rem;margin:0}"
    ".facts strong{display:block;font-size:1.45rem;line-height:1.25}.facts span{color:var(--soft);font-size:.88rem}"
    "tr.all td{font-weight:600}"
)


def page(result: AuditResult) -> str:
    """The whole page."""
    sections = [*_sections(result), *result.extra, methods(result)]
    about = result.about
    contents = "".join(f'<li><a href="#{text(part.key)}">{text(part.title)}</a></li>' for part in sections)
    body = "".join(part.to_html() for part in sections)
    against = f" against {about['against_name']}" if about.get("against_name") else ""
    lead = (
        f"Problem {about['name']}, decided by {about['model_name']}{against}, "
        f"{count(len(result), 'person', 'people')}. Audited with counterplan, {about['date']}."
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(f"Recourse audit of {about['model_name']}")}</title>
<style>{page_style()}{_STYLE}</style>
</head>
<body>
<header>
<p class=over>Recourse audit</p>
<h1>Who can do something about the decision, at what cost, and who cannot?</h1>
<p class=lead>{text(lead)}</p>
</header>
<main>
<nav><ul class=contents>{contents}</ul></nav>
{body}
</main>
</body>
</html>
"""


def _sections(result: AuditResult) -> Iterator[Section]:
    """The sections that have something to show."""
    yield _summary(result)
    if result.summary["refused"]:
        yield _groups(result)
        yield _costs(result)
        if len(result.differences):
            yield _differences(result)
        yield _functions(result)
    if "lasting_share" in result.groups or result.groups["survival_mean"].notna().any():
        yield _lasting(result)
    if result.comparison is not None:
        yield _comparison(result)


def _summary(result: AuditResult) -> Section:
    row, small = result.groups.iloc[0], fewer_than(result.settings.min_group)
    counts = {outcome: int(row[outcome.value]) for outcome in REFUSED}
    facts = [(f"{len(result):,}", "people audited"), (f"{row['refused']:,}", "refused by the model")]
    for outcome in REFUSED:
        share, low, high = (row[f"{outcome.value}_{part}"] for part in ("share", "low", "high"))
        interval = small if pd.isna(share) else f"{percent(share)}, interval {100 * low:.1f} to {100 * high:.1f}"
        facts.append((f"{counts[outcome]:,}", f"{LABELS[outcome]} ({interval})"))
    items = "".join(f"<li><strong>{text(value)}</strong><span>{text(words)}</span></li>" for value, words in facts)
    parts = [f"<ul class=facts>{items}</ul>"]
    if row["refused"]:
        parts.append(figure(outcome_bar(counts), f"Outcomes of the {row['refused']:,} refused people."))
    sentences = "".join(f"<li>{text(sentence)}</li>" for sentence in findings(result))
    parts.append(f"<ul>{sentences}</ul>" if sentences else paragraph("The model refuses none of these people."))
    return Section("summary", "Summary", parts)


def _by_grouping(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each grouping, after that of everybody."""
    everybody = table[table["grouping"] == ""]
    names = [name for name in dict.fromkeys(table["grouping"]) if name]
    for name in names or [""]:
        yield name, pd.concat([everybody, table[table["grouping"] == name]]) if name else everybody


def _groups(result: AuditResult) -> Section:
    settings, small = result.settings, fewer_than(result.settings.min_group)
    parts = [
        paragraph(
            "Shares of refused people with a verified plan, with "
            f"{percent(settings.level, 0)} intervals. The count is the number of refused people."
        )
    ]
    for name, rows in _by_grouping(result.groups):
        by = f" by {name}" if name else ""
        chart = share_chart(rows, "recourse", f"Share with recourse{by}", small)
        parts.append(figure(chart, f"Share of refused people who have a plan{by}; lines are intervals."))
        parts.append(figure(heat_map(rows, settings.min_group, small), f"Share of each outcome{by}."))
        parts.append(_share_table(rows, small, f"Outcomes{by}: number of people, share and interval."))
    return Section("groups", "Recourse by group", parts)


def _share_table(rows: pd.DataFrame, small: str, caption: str) -> str:
    made = []
    for row in rows.to_dict("records"):
        cells: dict[str, Any] = {"group": row["group"], "people": row["people"]}
        cells["refused"] = _count_and_share(row, "refused", small)
        cells |= {outcome.value: _count_and_share(row, outcome.value, small) for outcome in REFUSED}
        made.append(cells)
    heads = ["group", "people", "refused", *(LABELS[outcome] for outcome in REFUSED)]
    return table_html(pd.DataFrame(made), caption, heads)


def _count_and_share(row: Mapping[Any, Any], name: str, small: str) -> str:
    share, low, high = (row[f"{name}_{part}"] for part in ("share", "low", "high"))
    return small if pd.isna(share) else f"{row[name]:,} · {share_with_interval(share, low, high)}"


def _costs(result: AuditResult) -> Section:
    settings, small = result.settings, fewer_than(result.settings.min_group)
    solved = result.outcomes[(result.outcomes["outcome"] == AuditOutcome.RECOURSE).to_numpy(bool)]
    costs = solved["cost"].to_numpy(float)
    if not len(costs):
        return Section("costs", "Cost and steps", [paragraph("There is no verified plan.")])
    parts = [
        paragraph(
            f"Cost and steps of {count(len(costs), 'verified plan')}, in the units of the problem file. "
            f"{_proofs(len(costs), int(solved['optimal'].sum()))}"
        )
    ]
    parts.append(figure(histogram(costs, "Costs of plans", "cost"), f"Costs of {count(len(costs), 'plan')}."))
    for name, rows in _by_grouping(result.groups):
        by = f" by {name}" if name else ""
        chart = cost_chart(rows, "cost", f"Cost{by}", small)
        parts.append(
            figure(
                chart,
                f"Cost{by}: median with its interval (point and line), quartiles (bar) and 90th percentile (dotted).",
            )
        )
        parts.append(_quantile_table(rows, small, settings.level, by))
    return Section("costs", "Cost and steps", parts)


def _proofs(plans: int, proved: int) -> str:
    """How many of the plans are proved to be the cheapest, as a sentence."""
    if proved == plans:
        return "It is proved to be the cheapest." if plans == 1 else "All are proved to be the cheapest."
    bounds = "upper bounds on the least cost"
    if not proved:
        return f"None is proved to be the cheapest: costs are {bounds}."
    proofs = count(proved, "is", "are")
    return f"{proofs} proved to be the cheapest; the costs of the others are {bounds}."


def _quantile_table(rows: pd.DataFrame, small: str, level: float, by: str) -> str:
    made = []
    for row in rows.to_dict("records"):
        cells: dict[str, Any] = {"group": row["group"], "plans": row["recourse"]}
        for measure, digits in (("cost", 2), ("steps", 1)):
            for quantile in QUANTILES:
                column = column_of(measure, quantile)
                value, low, high = (row[f"{column}{end}"] for end in ("", "_low", "_high"))
                cells[column] = small if pd.isna(value) else with_interval(value, low, high, digits)
        made.append(cells)
    names = ["median" if quantile == 0.5 else percent(quantile, 0) for quantile in QUANTILES]
    heads = ["group", "plans", *(f"{measure}, {name}" for measure in ("cost", "steps") for name in names)]
    return table_html(pd.DataFrame(made), f"Quantiles{by} with {percent(level, 0)} bootstrap intervals.", heads)


def _differences(result: AuditResult) -> Section:
    table, level = result.differences, result.settings.level
    made = []
    for row in table.to_dict("records"):
        shares = row["measure"] == "recourse"
        unit, digits = (100, 1) if shares else (1, 2)
        values = [number(unit * row[name], digits) for name in ("value", "others", "difference")]
        intervals = [
            f"{number(unit * row[f'low{end}'], digits)} to {number(unit * row[f'high{end}'], digits)}"
            for end in ("", "_all")
        ]
        made.append(
            {
                "grouping": row["grouping"],
                "group": row["group"],
                "measure": "share with a plan, %" if shares else "median cost",
                "n": f"{row['n']:,} / {row['n_others']:,}",
                "value": values[0],
                "others": values[1],
                "difference": f"{values[2]} ({intervals[0]})",
                "all": intervals[1],
                "p": p_value(row["p_holm"]),
                "differs": _differs(row),
            }
        )
    heads = ["by", "group", "measure", "people / others", "group", "others", "difference"]
    heads += ["interval for all", "p, corrected", "differs"]
    words = (
        f"Each group is compared with all other people of its grouping: {count(len(table), 'comparison')}. The "
        f"interval beside a difference has a level of {percent(level, 0)} by itself; the one after it holds for all "
        "comparisons at the same time. A group differs if its p-value, corrected for the number of comparisons, is at "
        f"most {number(1 - level, 3)}."
    )
    return Section(
        "differences", "Differences between groups", (paragraph(words), table_html(pd.DataFrame(made), "", heads))
    )


def _differs(row: Mapping[Hashable, Any]) -> str:
    """Whether a group differs, and in which direction if its median does not tell."""
    if not row["differs"]:
        return "no"
    tend = "" if row["measure"] == "recourse" else hidden_tendency(row)
    return f"yes, {tend} costs" if tend else "yes"


def _functions(result: AuditResult) -> Section:
    table, small = result.functions, fewer_than(result.settings.min_group)
    tested = "indispensable" in table
    words = "Which functions the verified plans use. A plan may use several."
    if tested:
        words += (
            " A function is indispensable to a person who provably has no plan without it; the others pay more, or "
            "found another way at the same cost."
        )
    parts = [paragraph(words)]
    own = table[table["grouping"] == ""]
    made = []
    for row in own.to_dict("records"):
        share = share_with_interval(row["share"], row["low"], row["high"])
        cells = {"function": row["function"], "used": row["used"], "share": small if pd.isna(row["share"]) else share}
        if tested:
            extra = with_interval(row["extra_cost"], row["extra_cost_low"], row["extra_cost_high"], 2)
            cells |= {"indispensable": row["indispensable"], "undecided": row["undecided"]}
            cells |= {"extra": small if pd.isna(row["extra_cost"]) else extra}
        made.append(cells)
    heads = ["function", "plans", "share of plans"]
    heads += ["indispensable", "not known", "median extra cost without it"] if tested else []
    parts.append(table_html(pd.DataFrame(made), "", heads))
    for name, rows in _by_grouping(table):
        if name:
            parts.append(folded(f"By {name}", _function_shares(rows, small)))
    return Section("functions", "Functions that carry recourse", parts)


def _function_shares(rows: pd.DataFrame, small: str) -> str:
    """Shares of plans that use each function, groups as rows."""
    made = []
    for group, part in rows.groupby("group", sort=False):
        cells: dict[str, Any] = {"group": group, "plans": int(part["plans"].iloc[0])}
        for row in part.to_dict("records"):
            cells[row["function"]] = small if pd.isna(row["share"]) else percent(row["share"])
        made.append(cells)
    return table_html(pd.DataFrame(made), "Share of the plans of each group that use a function.")


def _lasting(result: AuditResult) -> Section:
    least, small = result.settings.survival_at_least, fewer_than(result.settings.min_group)
    made = []
    for row in result.groups.to_dict("records"):
        cells: dict[str, Any] = {"by": row["grouping"], "group": row["group"], "refused": row["refused"]}
        value = row["survival_mean"]
        interval = share_with_interval(value, row["survival_low"], row["survival_high"])
        cells["survival"] = small if pd.isna(value) else interval
        if least is not None:
            cells["lasting"] = _count_and_share(row, "lasting", small)
        made.append(cells)
    heads = ["by", "group", "refused", "mean survival of plans"]
    heads += [] if least is None else [f"has a plan with a survival of at least {percent(least, 0)}"]
    words = (
        "Survival is the estimated chance that a plan still leads to a favourable decision after the model is trained "
        f"again, estimated by {result.about.get('survival_source') or 'nothing'}."
    )
    return Section("lasting", "Recourse that lasts", (paragraph(words), table_html(pd.DataFrame(made), "", heads)))


def _comparison(result: AuditResult) -> Section:
    assert result.comparison is not None
    assert result.transitions is not None
    small = fewer_than(result.settings.min_group)
    names = {outcome.value: LABELS[outcome] for outcome in AuditOutcome}
    transitions = result.transitions.rename(index=names, columns=names)
    transitions.insert(0, "", transitions.index)
    made = []
    for row in result.comparison.to_dict("records"):
        cells: dict[str, Any] = {"by": row["grouping"], "group": row["group"], "people": row["people"]}
        for change in ("newly_refused", "newly_favourable", "gains", "loses", "fails"):
            share = share_with_interval(row[f"{change}_share"], row[f"{change}_low"], row[f"{change}_high"])
            text_of_share = small if pd.isna(row[f"{change}_share"]) else share
            cells[change] = f"{row[change]:,} of {row[f'{change}_of']:,} · {text_of_share}"
        change = with_interval(row["cost_change"], row["cost_change_low"], row["cost_change_high"], 2)
        cells["cost"] = small if pd.isna(row["cost_change"]) else change
        made.append(cells)
    heads = ["by", "group", "people", "newly refused", "newly favourable", "gains recourse", "loses recourse"]
    heads += ["plan no longer holds", "median change of cost"]
    words = (
        f"The same people, audited with {result.about['against_name']}. Gains and losses are among the people who "
        "are refused by both models and whose outcomes are known; plans that no longer hold are verified plans at "
        "whose end the other model decides unfavourably."
    )
    table = table_html(
        transitions, f"People by outcome of {result.about['model_name']} (rows) and of the other (columns)."
    )
    return Section("comparison", "Two models", (paragraph(words), table, table_html(pd.DataFrame(made), "", heads)))
