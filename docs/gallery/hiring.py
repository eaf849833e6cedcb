# %% [markdown]
# # A hiring model
#
# A company ranks applicants with a model, and rejects most of them. What can a rejected applicant do, and in which
# order? The problem file is written in this notebook, and its causal graph makes some orders cheaper than
# others. The data are synthetic. Run the cells of [the notebook](hiring.ipynb), or [the script](hiring.py).
#
# ## Data and model
#
# The table has past applicants and decisions. The model is a scikit-learn pipeline, which is trained on them.

# %%
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

random = np.random.default_rng(0)
count = 1_200
LANGUAGES, DEGREES = ["basic", "good", "fluent"], ["school", "bachelor", "master"]
people = pd.DataFrame(
    {
        "age": random.integers(20, 60, count),
        "degree": random.choice(DEGREES, count, p=[0.4, 0.4, 0.2]),
        "language": random.choice(LANGUAGES, count, p=[0.4, 0.4, 0.2]),
        "experience": 12 * random.poisson(3, count),
        "portfolio": random.choice(["no", "yes"], count, p=[0.7, 0.3]),
    }
)
merit = people["degree"].map(DEGREES.index) + people["language"].map(LANGUAGES.index) + people["experience"] / 36
merit += 1.5 * (people["portfolio"] == "yes") + random.normal(0, 0.4, count)
people["decision"] = np.where(merit > 4.8, "interview", "rejected")

encode = make_column_transformer(
    (OneHotEncoder(), ["degree", "language", "portfolio"]), (StandardScaler(), ["experience"])
)
train, applicants = people.iloc[:1_000], people.iloc[1_000:]
model = make_pipeline(encode, LogisticRegression(C=10)).fit(train.drop(columns="decision"), train["decision"])
print(f"{np.mean(model.predict(applicants) == 'rejected'):.0%} of the applicants are rejected")

# %% [markdown]
# ## The problem, inline
#
# Features that no function changes are immutable: here, age. The causes say what makes other steps easier: better
# language makes a degree cheaper, and a degree makes experience cheaper. `Problem.from_yaml` checks everything.

# %%
from counterplan import Problem

problem = Problem.from_yaml("""
counterplan: 1
name: hiring
title: Applicants for a job
max_actions: 4
outcome: {column: decision, values: [interview, rejected], favourable: interview}
time_unit: months

features:
  age: {kind: number, label: your age, protected: true, integer: true, unit: years, bins: [-.inf, 30, 40, 50]}
  degree: {kind: ordered, label: your degree, values: [school, bachelor, master]}
  language: {kind: ordered, label: your English, values: [basic, good, fluent]}
  experience: {kind: number, label: your experience, integer: true, unit: months, minimum: 0, maximum: 480}
  portfolio: {kind: category, label: your portfolio, values: ['no', 'yes']}

functions:
  STUDY:
    set: degree
    arguments: [bachelor, master]
    when: argument > degree and (argument == 'bachelor' or degree == 'bachelor')
    cost: {base: {bachelor: 20, master: 14}}
    duration: {bachelor: 36, master: 24}
    phrase: Get a {argument}'s degree
  LEARN_ENGLISH:
    set: language
    arguments: [good, fluent]
    when: argument > language
    cost: {base: {good: 5, fluent: 9}}
    duration: {good: 6, fluent: 12}
    phrase: Bring your English from {before} to {argument}
  GAIN_EXPERIENCE:
    add: experience
    arguments: [12, 24, 36]
    cost: {base: [6, 11, 16]}
    duration: [12, 24, 36]
    phrase: Work in the field for {amount}
  BUILD_PORTFOLIO:
    set: portfolio
    arguments: ['yes']
    when: portfolio == 'no' and experience >= 12
    cost: 10
    duration: 4
    phrase: Collect your work in a portfolio

causes:
  - {from: language, to: degree, scale: [1, 0.7, 0.5]}
  - {from: degree, to: experience, scale: [1, 0.6, 0.5]}
  - {from: experience, to: portfolio, scale: [{below: 24, scale: 1}, {scale: 0.4}]}
""")
print(f"{len(problem.features)} features, {len(problem.transitions) - 1} actions")

# %% [markdown]
# ## A plan
#
# Exact search finds the cheapest legal sequence of actions, and proves that there is no cheaper one. This is the
# longest of the plans.

# %%
from counterplan import BlackBox, ExactPlanner

box = BlackBox(model)
plans = ExactPlanner(problem, box).plan(applicants)
longest = max(plans, key=lambda plan: len(plan.steps))
print(longest)

# %% [markdown]
# The same plan as a figure.

# %%
longest.plot()

# %% [markdown]
# ## The order matters
#
# Every order of these steps ends in the same state, if it is legal, but the costs differ. These are the two
# cheapest and the two most expensive orders. In the cheapest one, causes come before their effects.

# %%
from itertools import permutations

transitions = problem.transitions
number = {str(action): action.index for action in transitions.actions}


def cost_of(order):
    """The cost of a sequence of actions; infinite if one of them is not legal."""
    state, total = problem.state(longest.start)[None], 0.0
    for action in order:
        state, cost, legal = transitions.step(state, np.array([number[action]]))
        total += float(cost[0]) if legal[0] else np.inf
    return total


orders = sorted(permutations(longest.actions), key=cost_of)
for order in (*orders[:2], *orders[-2:]):
    print(f"{cost_of(order):6.1f}  {', then '.join(order)}")

# %% [markdown]
# ## Everybody
#
# Which functions do the plans of all rejected applicants use, and what do plans cost?

# %%
found = [plan for plan in plans if plan.status == "found"]
used = pd.Series([step.function for plan in found for step in plan.steps]).value_counts()
print(f"{len(found)} plans, median cost {np.median([plan.cost for plan in found]):.1f}")
print(used.to_string())
