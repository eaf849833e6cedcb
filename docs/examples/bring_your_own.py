# %% [markdown]
# # Bring your own data and model
#
# From a table and a scikit-learn model to plans for refused people, an interpretable program, and a page. The data are
# synthetic, and everything runs in a few seconds: `pip install 'counterplan[train]'`, then run this file with Python,
# or [the notebook](bring_your_own.ipynb) with the same content cell by cell.
#
# ## Data
#
# An agency lets flats. It has a table of applicants and decisions.

# %%
import numpy as np
import pandas as pd

random = np.random.default_rng(0)
count = 2_000
people = pd.DataFrame(
    {
        "age": random.integers(19, 70, count),
        "income": (random.gamma(6, 420, count) // 50 * 50 + 600).astype(int),
        "contract": random.choice(["none", "temporary", "permanent"], count, p=[0.15, 0.35, 0.5]),
        "guarantor": random.choice(["no", "yes"], count, p=[0.75, 0.25]),
        "arrears": random.choice([0, 1, 2], count, p=[0.7, 0.2, 0.1]),
    }
)
secure = people["contract"].map({"none": -1.0, "temporary": 0.0, "permanent": 0.8}) + (people["guarantor"] == "yes")
merit = (people["income"] - 3_000) / 900 + secure - people["arrears"] + random.normal(0, 0.3, count)
people["decision"] = np.where(merit > 0, "invited", "refused")
print(people.head())

# %% [markdown]
# ## Model
#
# The model is a black box, queried with rows that have the columns of the table: here, boosted trees after a one-hot
# encoding.

# %%
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

train, applicants = people.iloc[:1_600], people.iloc[1_600:]
features = [name for name in people.columns if name != "decision"]
encode = make_column_transformer((OneHotEncoder(), ["contract", "guarantor"]), remainder="passthrough")
model = make_pipeline(encode, GradientBoostingClassifier(n_estimators=50, random_state=0))
model.fit(train[features], train["decision"])
print(f"accuracy on test people: {model.score(applicants[features], applicants['decision']):.0%}")

# %% [markdown]
# ## Problem
#
# The problem file defines features, actions and costs. A draft is made from the table. (On the command line:
# `counterplan init people.csv --outcome decision`.)

# %%
from counterplan.problem.draft import draft

draft = draft(train, "decision", "flats")
print(draft)

# %% [markdown]
# The draft is to be completed by hand: labels of features, the order of contracts, and the actions with preconditions
# and costs. Usually this is done in an editor; here, by a script.

# %%
from pathlib import Path

from counterplan import Problem

ACTIONS = """
functions:
  FIND_WORK:
    set: contract
    arguments: all
    when: argument > contract
    cost: {base: {none: 0, temporary: 8, permanent: 14}}
    phrase: Find work with a {argument} contract
  EARN_MORE:
    add: income
    arguments: [200, 400, 800]
    when: contract != 'none'
    cost: {base: [6, 10, 16]}
    phrase: Earn {amount} more
  FIND_GUARANTOR:
    set: guarantor
    arguments: ['yes']
    when: guarantor == 'no'
    cost: 9
    phrase: Find somebody who vouches for you
  SETTLE_ARREARS:
    add: arrears
    arguments: [-1, -2]
    when: arrears + argument >= 0
    cost: {base: [5, 8]}
    phrase: Pay {amount} of the rents that you owe

causes:  # a better contract reduces the cost of earning more
  - {from: contract, to: income, scale: [1, 0.8, 0.6]}
"""

EDITS = {
    "  income:": "  income:\n    label: your monthly income\n    unit: €",
    "  contract:\n    kind: category": "  contract:\n    kind: ordered\n    label: your contract",
    "[none, permanent, temporary]": "[none, temporary, permanent]",
}

text = draft.split("# What people can do.")[0]
for drafted, final in EDITS.items():
    assert drafted in text
    text = text.replace(drafted, final)
folder = Path("flats")
folder.mkdir(exist_ok=True)
file = folder / "flats.yaml"
file.write_text(text + ACTIONS, "utf-8")
problem = Problem.load(file)  # raises with line numbers; `counterplan check` also warns
print(f"{len(problem.features)} features, {len(problem.transitions) - 1} actions")

# %% [markdown]
# ## Plans
#
# `fit` learns a surrogate of the model once, and `recommend` then plans for anybody with one or two queries.

# %%
from counterplan import Recourse

recourse = Recourse(problem, model).fit(train)
plans = recourse.recommend(applicants)
print(plans.to_text(most=2))

# %% [markdown]
# Every plan is legal step by step, and was verified with the model.

# %%
found = [plan for plan in plans if plan.status == "found"]
assert all(plan.verified and plan.replay(problem, recourse.box).ok for plan in found)
print(f"{len(found)} plans hold; {recourse.n_queries_['guided']:,} queries to learn, {plans.queries:,} to plan")

# %% [markdown]
# ## Program
#
# The program has rules that people can read, and needs no model. (A small one here; by default it is made for more
# people, which takes longer and succeeds more often.)

# %%
program = recourse.distil(train, traces=1_000, rounds=2, prefer="short")
print(program)

# %% [markdown]
# Its card describes how it was made, and its performance on held-out people, by the model itself.

# %%
print(f"success {program.model_card.success:.0%}, cost ratio {program.model_card.cost_ratio:.2f}")
print(program.verify(applicants[model.predict(applicants[features]) == "refused"], model))

# %% [markdown]
# ## Output
#
# Learned objects are saved in a folder (`counterplan recommend FOLDER …` plans with it), plans in a table, and the
# program as a page that works offline in any browser.

# %%
from counterplan.program.export import export

recourse.save(folder / "learned")
recourse.explain(plans).to_frame().to_csv(folder / "plans.csv", index=False)
export(program, folder / "flats.html")
print(f"Wrote {folder / 'flats.html'} and {folder / 'plans.csv'}.")
