# %% [markdown]
# # A portfolio on a cluster
#
# A bank plans for all customers who are refused a credit line. The customers are in Parquet files; the plans are
# made on a Dask cluster, here one of two processes on this machine. The data are synthetic. Run the cells of
# [the notebook](portfolio_on_a_cluster.ipynb), or [the script](portfolio_on_a_cluster.py), in an empty folder, with
# `pip install 'counterplan[train,cluster]'`.
#
# ## People in files
#
# 3,000 customers in three files, with a key and a region.

# %%
from pathlib import Path

import numpy as np
import pandas as pd

REGIONS = ["north", "east", "south", "west"]
random = np.random.default_rng(1)
count = 3_000
region = random.choice(4, count, p=[0.4, 0.2, 0.25, 0.15])
customers = pd.DataFrame(
    {
        "customer": np.arange(10_000, 10_000 + count),
        "region": np.array(REGIONS)[region],
        "age": random.integers(20, 70, count),
        "income": (random.gamma(9, 4, count) * (1.1 - 0.12 * region)).round().astype(int),
        "savings": random.gamma(1.2, 8, count).round().astype(int),
        "cards": random.poisson(2.5, count),
        "late": random.binomial(6, 0.15 + 0.03 * region),
        "line": 5 * random.integers(1, 9, count),
    }
)
Path("customers").mkdir()
for number in range(3):
    customers.iloc[1_000 * number :][:1_000].to_parquet(f"customers/{number}.parquet")
print(sorted(path.name for path in Path("customers").iterdir()))

# %% [markdown]
# ## Model
#
# The bank has a score. Models are never sent to other processes: every worker imports the model by its name, here
# `bank:score`, from a module that all workers can import.

# %%
Path("bank.py").write_text(
    """
import numpy as np


def score(people):
    points = 580 + 4 * np.minimum(people["income"], 60) + 3 * np.minimum(people["savings"], 20) + people["age"]
    points -= 18 * people["cards"] + 40 * people["late"] + 3 * people["line"]
    return points - 50 * ((people["late"] >= 2) & (people["line"] > 20))
""",
    "utf-8",
)

# %% [markdown]
# ## Problem
#
# Outcomes are scores, of which at least 600 points are favourable. Plans may not depend on the region, a protected
# feature.

# %%
from counterplan import Problem

Path("lines.yaml").write_text(
    """
counterplan: 1
name: lines
title: Credit lines
max_actions: 3
outcome: {column: score, favourable: {at_least: 600}}

features:
  region: {kind: category, label: your region, values: [north, east, south, west], protected: true}
  age: {kind: number, label: your age, unit: years, integer: true, minimum: 18, bins: [0, 30, 40, 50, 60]}
  income: {kind: number, label: your income, unit: k€, integer: true, minimum: 0}
  savings: {kind: number, label: your savings, unit: k€, integer: true, minimum: 0}
  cards: {kind: number, label: your credit cards, integer: true, minimum: 0}
  late: {kind: number, label: your late payments, integer: true, minimum: 0, maximum: 6}
  line: {kind: number, label: the credit line, unit: k€, integer: true, minimum: 5, maximum: 40}

functions:
  SAVE:
    add: savings
    arguments: [2, 5]
    when: argument <= income / 5
    cost: {base: [3, 8]}
    phrase: Save {amount}
  CLOSE_CARDS:
    add: cards
    arguments: [-1, -2]
    when: cards + argument >= 1
    cost: {base: [2, 5]}
    phrase: Reduce your credit cards by {amount}
  CATCH_UP:
    add: late
    arguments: [-1, -2]
    when: late + argument >= 0
    cost: {base: [4, 9]}
    phrase: Reduce your late payments by {amount}
  SMALLER_LINE:
    add: line
    arguments: [-5, -10]
    when: line + argument >= 5
    cost: {base: [3, 7]}
    phrase: Ask for {amount} less
""",
    "utf-8",
)
problem = Problem.load("lines.yaml")
print(f"{len(problem.features)} features, {len(problem.transitions) - 1} actions")

# %% [markdown]
# ## Learn from a sample
#
# A surrogate of the score's decisions is fitted with 150 queries about a sample of the customers. These settings are
# small, so that the notebook is quick.

# %%
from counterplan import LearningSettings, Recourse, batch

sample = batch.sample("customers", 1_000, seed=0)
settings = LearningSettings(budget=150, people=100, plans=100, scores=False)
recourse = Recourse(problem, "bank:score").fit(sample, settings=settings, quality=False)
recourse.save("learned")
print(sum(recourse.n_queries_.values()), "queries")

# %% [markdown]
# ## Plan on the cluster
#
# The planner "guided" plans on the surrogate, and checks each plan with the score. `cluster="local"` starts a Dask
# `LocalCluster`; with the address of a scheduler, such as `"tcp://scheduler:8786"`, another cluster is used. Worker
# processes do not import this script, so it needs no `if __name__ == "__main__"`. For millions of people, distil a
# program, which plans without queries ([many people](../scale.md)).

# %%
options = {"planner": "guided", "model": "bank:score", "key": "customer", "partition_rows": 500}
result = batch.recommend("learned", "customers", "plans", **options, cluster="local", jobs=2)
print(result)
print(f"{result.parts} parts, {result.reused} of them were there before")

# %% [markdown]
# ## The manifest
#
# Each partition becomes a Parquet file. The manifest has their sums, and fingerprints of everything that the plans
# depend on: the problem, the model, what was learned, the settings, and the input files.

# %%
import json
from textwrap import fill

manifest = json.loads(Path("plans/_manifest.json").read_text("utf-8"))
for name in ("rows", "found", "already_favourable", "not_found", "queries", "steps", "cost"):
    print(f"{name:20} {manifest['summary'][name]:6,.0f}")
print(fill(f"complete: {manifest['complete']}; made with {', '.join(manifest['made_with'])}", 100))

# %% [markdown]
# ## Resume
#
# A part is whole or absent. Here one is lost. `resume=True` compares the fingerprints and plans for the missing
# partition only, this time without a cluster: plans do not depend on where they are made.

# %%
plans = pd.read_parquet("plans")
Path("plans/part-000003.parquet").unlink()
result = batch.recommend("learned", "customers", "plans", **options, resume=True)
print(f"{result.parts} parts, {result.reused} of them were there before")
print("the same plans:", plans.equals(pd.read_parquet("plans")))

# %% [markdown]
# ## Read the plans
#
# There is a row for each step. pandas, polars, DuckDB and Spark read the folder.

# %%
print(plans[plans["status"] == "found"][["person", "total_cost", "step", "text"]].head(5).to_string(index=False))
steps = plans.merge(customers[["customer", "region"]], left_on="person", right_on="customer")
found = steps[steps["status"] == "found"].drop_duplicates("person")
print(found.groupby("region")["total_cost"].describe()[["count", "mean", "max"]].loc[REGIONS].round(1).to_string())

# %% [markdown]
# ## Audit the same people
#
# `batch.audit` takes the same files, and `cluster=` as well. Its planner is exact search, which finds the cheapest plan
# of a person, or proves that there is none. It shows how much more the plans of the surrogate cost.

# %%
options["planner"] = "exact"
audit = batch.audit("lines.yaml", "customers", "audit", **options, groups=["region"], relaxations=0)
print(audit)
both = found[["person", "total_cost"]].merge(pd.read_parquet("audit/outcomes"), on="person")
print(f"guided plans cost {both['total_cost'].mean():.2f} on average, the cheapest ones {both['cost'].mean():.2f}")

# %% [markdown]
# ## By region
#
# On the left, shares with 95 % intervals, on an axis from 80 %; the dashed line is the share of everybody. On the
# right, the costs of the plans: medians, the middle half, and the range of nine in ten.

# %%
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=(3, 2))
audit.result.plot_groups(ax=left, column="region")
left.set(xlim=(0.8, 1), xticks=[0.8, 0.85, 0.9, 0.95, 1])
costs = [found.loc[found["region"] == region, "total_cost"] for region in REGIONS]
right.boxplot(
    costs,
    tick_labels=REGIONS,
    whis=(5, 95),
    showfliers=False,
    widths=0.5,
    patch_artist=True,
    boxprops={"facecolor": "#9fc8e0"},
    medianprops={"color": "#1a1b20", "linewidth": 2},
)
right.set(ylabel="cost of the plan", ylim=(0, 20), yticks=range(0, 21, 5))
right.spines[["top", "right"]].set_visible(False)
right.grid(axis="y", alpha=0.3)
