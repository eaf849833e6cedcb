# %% [markdown]
# # Asking a person
#
# The costs of a problem file are those of an average person. What is easy for one person is hard for another. Here one
# person answers a few questions, and gets a plan that fits. The data are synthetic. Run the cells of
# [the notebook](asking_a_person.ipynb), or [the script](asking_a_person.py).
#
# ## Data and model
#
# Couriers who work for themselves ask for a loan to buy a van.

# %%
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

random = np.random.default_rng(3)
count = 1_500
people = pd.DataFrame(
    {
        "hours": random.integers(15, 50, count),
        "customers": random.poisson(3, count),
        "savings": random.gamma(1.5, 3, count).round().astype(int),
        "debt": random.gamma(1.2, 4, count).round().astype(int),
        "amount": random.integers(8, 40, count),
        "guarantor": random.choice([0, 1], count, p=[0.8, 0.2]),
    }
)
merit = 0.12 * people["hours"] + 0.6 * people["customers"] + 1.5 * people["guarantor"] + random.normal(0, 0.7, count)
merit += 0.3 * people["savings"] - 0.25 * people["debt"] - 0.12 * people["amount"]
people["loan"] = np.where(merit > 3, "granted", "refused")
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(people.drop(columns="loan"), people["loan"])
print(f"{np.mean(people['loan'] == 'refused'):.0%} were refused")

# %% [markdown]
# ## Problem
#
# There are six functions, and their costs are those of an average person. One courier was refused.

# %%
from counterplan import Problem

problem = Problem.from_yaml("""
counterplan: 1
name: vans
title: Loans for a van
max_actions: 4
outcome: {column: loan, values: [granted, refused], favourable: granted}
time_unit: months

features:
  hours: {kind: number, label: your hours a week, unit: hours, integer: true, minimum: 0, maximum: 55}
  customers: {kind: number, label: your regular customers, integer: true, minimum: 0}
  savings: {kind: number, label: your savings, unit: k€, integer: true, minimum: 0}
  debt: {kind: number, label: your debts, unit: k€, integer: true, minimum: 0}
  amount: {kind: number, label: the price of the van, unit: k€, integer: true, minimum: 8, maximum: 40}
  guarantor: {kind: number, label: your guarantors, integer: true, minimum: 0, maximum: 1}

functions:
  WORK_MORE:
    add: hours
    arguments: [5, 10]
    when: hours + argument <= 45
    cost: {base: [3, 7]}
    duration: {base: [1, 2]}
    phrase: Work {amount} a week more
  FIND_CUSTOMERS:
    add: customers
    arguments: [1, 2]
    when: customers + argument <= 6
    cost: {base: [3, 6]}
    duration: {base: [3, 6]}
    phrase: Find {argument} more regular customers
  SAVE:
    add: savings
    arguments: [2, 4]
    when: savings + argument <= 10
    cost: {base: [3, 6]}
    duration: {base: [4, 8]}
    phrase: Save {amount}
  REPAY:
    add: debt
    arguments: [-2, -4]
    when: debt + argument >= 0
    cost: {base: [3, 5]}
    duration: {base: [3, 6]}
    phrase: Repay {amount} of your debts
  CHEAPER_VAN:
    add: amount
    arguments: [-4, -8]
    when: amount + argument >= 14
    cost: {base: [4, 8]}
    duration: {base: [1, 1]}
    phrase: Choose a van that costs {amount} less
  GUARANTOR:
    set: guarantor
    arguments: [1]
    when: guarantor == 0
    cost: 6
    duration: 1
    phrase: Find somebody who guarantees the loan
""")
courier = {"hours": 32, "customers": 4, "savings": 2, "debt": 6, "amount": 30, "guarantor": 0}
print(f"{len(problem.transitions) - 1} actions")

# %% [markdown]
# ## The plan for an average person
#
# The cheapest plan, and two other ways with other functions.

# %%
from counterplan import Recourse

recourse = Recourse(problem, model)
average = recourse.recommend(pd.DataFrame([courier]), planner="exact", alternatives=3)[0]
print(average)

# %% [markdown]
# ## What the courier cannot do
#
# Nobody would guarantee the loan. `cannot` excludes the function from all questions and plans; `can` and `undo` take
# that back. The question shows ways that the model has confirmed. They are chosen such that the answer is expected to
# save the most.

# %%
from counterplan import Elicitation

elicitation = Elicitation(recourse, courier, planner="exact", max_questions=6)
elicitation.cannot("GUARANTOR")
before = elicitation.plan()
print(elicitation.question())

# %% [markdown]
# ## Two answers
#
# In this notebook, the courier is simulated by weights that the library does not see: more hours are three times as
# hard as for others, and a cheaper van is easy. The courier picks the option with the least effort by these weights.

# %%
TRUE = {"WORK_MORE": 3, "FIND_CUSTOMERS": 0.5, "SAVE": 1.5, "REPAY": 1, "CHEAPER_VAN": 0.4}


def effort(plan):
    """What a plan costs the courier."""
    return sum(step.cost / step.weight * TRUE[step.function] for step in plan.steps)


def ask():
    """Ask and answer a question, and print what changes."""
    question = elicitation.question()
    efforts = [effort(option) for option in question.options]
    elicitation.answer(int(np.argmin(efforts)))
    options = ", ".join(f"{each:.1f}" for each in efforts)
    plan = elicitation.plan()
    print(f"{question.number}. options of {options}; the plan is now {', '.join(plan.actions)}: {effort(plan):.1f}")
    return effort(plan)


print(f"At first the plan is {', '.join(before.actions)}: {effort(before):.1f}")
course = [effort(before), ask(), ask()]

# %% [markdown]
# ## Save and resume
#
# The courier goes on another day. The file has the answers, the person and the settings, and only its owner may read
# it. The model may be another one by then.

# %%
import json
from pathlib import Path

elicitation.save("courier.json")
elicitation = Elicitation.load("courier.json", recourse)
print(elicitation)
print(json.loads(Path("courier.json").read_text())["answers"][0])
while not elicitation.done:
    course.append(ask())

# %% [markdown]
# ## What was learned
#
# Weights are relative to each other. Sentences are for the person, and only about what is clear.

# %%
print(elicitation.weights.round(2).to_string())
print(*elicitation.learned, sep="\n")

# %% [markdown]
# The same as a figure, with the weights of the simulated courier. Three answers are enough for the best plan, although
# the weights are still uncertain, and the interval of one of them misses the courier's own.

# %%
import matplotlib.pyplot as plt

BLUE, ORANGE = "#0072B2", "#D55E00"
learned = elicitation.weights.drop(index="GUARANTOR").sort_values("mean")
true = pd.Series(TRUE)[learned.index]
true /= np.exp(np.log(true).mean())
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained", width_ratios=(3, 2))
rows = range(len(learned))
errors = [learned["mean"] - learned["low"], learned["high"] - learned["mean"]]
left.errorbar(learned["mean"], rows, xerr=errors, fmt="o", color=BLUE, capsize=4, label="learned, 90 % interval")
left.plot(true, rows, "D", color="none", markeredgecolor=ORANGE, markeredgewidth=1.8, label="the courier's own")
left.axvline(1, color="grey", linestyle="--", linewidth=1)
left.set(xscale="log", xlabel="weight: factor on the usual cost", yticks=rows, ylim=(-0.6, len(learned) - 0.4))
left.set_xticks([0.125, 0.25, 0.5, 1, 2, 4], ["1/8", "1/4", "1/2", "1", "2", "4"])
left.minorticks_off()
left.set_yticklabels(learned.index.str.replace("_", " ").str.lower())
left.legend(frameon=False, loc="lower right")
right.plot(range(len(course)), course, "o-", color=BLUE)
right.set(xlabel="number of answers", ylabel="effort of the plan for the courier", ylim=(0, 20))
right.set(xticks=range(len(course)), yticks=range(0, 21, 5))
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x" if ax is left else "y", alpha=0.3)

# %% [markdown]
# ## Before and after
#
# The plan without questions, by average costs, and the plan after six answers, by the weights that were learned.

# %%
after = elicitation.plan()
figure, axes = plt.subplots(2, 1, figsize=(8, 5), layout="constrained", sharex=True)
for plan, ax in zip((before, after), axes, strict=True):
    plan.plot(ax=ax)
axes[0].set_xlabel("")
best = recourse.recommend(pd.DataFrame([courier]), planner="exact", forbid=["GUARANTOR"], weights=TRUE)[0]
print(f"before {effort(before):.1f}, after {effort(after):.1f}, the least possible {best.cost:.1f}")
