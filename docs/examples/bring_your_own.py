# %% [markdown]
# # Bring your own data and model
#
# From a table and a scikit-learn model to plans for people who were refused, a program that people can read, and a page
# of it. Everything here is made up, and runs in a few seconds: `pip install 'counterplan[train]'`, then run this file
# with Python, or [the notebook](bring_your_own.ipynb) of the same content cell by cell.
#
# ## Data
#
# An agency lets flats. It has a table of people who applied, and what became of it.

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
# Any model will do: here, boosted trees behind a one-hot encoding. counterplan never looks inside it, and passes it
# rows with the columns of the table.

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
print(f"right about {model.score(applicants[features], applicants['decision']):.0%} of people it has not seen")

# %% [markdown]
# ## Problem
#
# What are the features, what can people do, and how hard is it? A first draft comes from the table. (On the command
# line: `counterplan init people.csv --outcome decision`.)

# %%
from counterplan.problem.draft import draft

draft = draft(train, "decision", "flats")
print(draft)

# %% [markdown]
# The draft says what to look at. The rest is for people to say: words for the features, that a contract has a rank, and
# what can be done, when, and at what effort. You would write that into the file with an editor; here, a script does.

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

causes:  # whoever has a permanent contract finds it easier to earn more
  - {from: contract, to: income, scale: [1, 0.8, 0.6]}
"""

EDITS = {
    "  income:": "  income:\n    label: your monthly income\n    unit: €",
    "  contract:\n    kind: category": "  contract:\n    kind: ordered\n    label: your contract",
    "[none, permanent, temporary]": "[none, temporary, permanent]",
}

text = draft.split("# What people can do.")[0]
for drafted, meant in EDITS.items():
    assert drafted in text
    text = text.replace(drafted, meant)
folder = Path("flats")
folder.mkdir(exist_ok=True)
file = folder / "flats.yaml"
file.write_text(text + ACTIONS, "utf-8")
problem = Problem.load(file)  # says what is wrong, with line numbers; `counterplan check` also says what looks wrong
print(f"{len(problem.features)} features, {len(problem.transitions) - 1} actions")

# %% [markdown]
# ## Plans
#
# `fit` learns once where the model says yes, and `recommend` then plans for anybody at a question or two each.

# %%
from counterplan import Recourse

recourse = Recourse(problem, model).fit(train)
plans = recourse.recommend(applicants)
print(plans.to_text(most=2))

# %% [markdown]
# Plans can be taken at their word: every one is legal step by step, and the model was asked about its end.

# %%
found = [plan for plan in plans if plan.status == "found"]
assert all(plan.verified and plan.replay(problem, recourse.box).ok for plan in found)
print(f"{len(found)} plans hold; {recourse.n_queries_['guided']:,} questions to learn, {plans.queries:,} to plan")

# %% [markdown]
# ## Program
#
# What was learned, as rules that people can read and that need no model. (A small one here; by default it is made for
# more people, which takes longer and does better.)

# %%
program = recourse.distil(train, traces=1_000, rounds=2, prefer="short")
print(program)

# %% [markdown]
# Its card says how it was made, and how it did for people who were held back, by the model itself.

# %%
print(f"success {program.card.success:.0%}, effort {program.card.cost_ratio:.2f} times the least known")
print(program.verify(applicants[model.predict(applicants[features]) == "refused"], model))

# %% [markdown]
# ## To take away
#
# What was learned is kept in a folder (`counterplan recommend FOLDER …` plans from it), plans in a table, and the
# program as a page that works in any browser, without a network.

# %%
from counterplan.program.export import export

recourse.save(folder / "learned")
recourse.explain(plans).to_frame().to_csv(folder / "plans.csv", index=False)
export(program, folder / "flats.html")
print(f"Look at {folder / 'flats.html'}, and at {folder / 'plans.csv'}.")
