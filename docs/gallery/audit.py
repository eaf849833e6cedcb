# %% [markdown]
# # An audit: who has no recourse?
#
# A lender wants to know whether refused people can do something about it, and whether that depends on
# where they live. The data are synthetic. Run the cells of [the notebook](audit.ipynb), or [the script](audit.py).
#
# ## Data and model
#
# Small firms ask for a loan. In the country, fewer of them own property and more of them are young.

# %%
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

random = np.random.default_rng(1)
count = 3_000
country = random.random(count) < 0.4
people = pd.DataFrame(
    {
        "region": np.where(country, "country", "city"),
        "years": random.poisson(np.where(country, 3, 6)),
        "property": np.where(random.random(count) < np.where(country, 0.25, 0.6), "yes", "no"),
        "collateral": random.choice([0, 10, 20, 40], count, p=[0.5, 0.2, 0.2, 0.1]),
        "revenue": random.gamma(4, 25, count).round().astype(int),
        "debt": random.gamma(2, 15, count).round().astype(int),
    }
)
strength = 0.25 * people["years"] + 0.05 * people["collateral"] + 0.02 * people["revenue"] - 0.04 * people["debt"]
people["loan"] = np.where(strength + random.normal(0, 0.4, count) > 3, "granted", "refused")

train, applicants = people.iloc[:2_000], people.iloc[2_000:]
features = ["years", "collateral", "revenue", "debt"]
model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(train[features], train["loan"])
refused = model.predict(applicants[features]) == "refused"
for region in ("city", "country"):
    print(f"{region}: {refused[applicants['region'] == region].mean():.0%} are refused")

# %% [markdown]
# ## Problem
#
# Only firms with property can offer collateral, and the years in business are immutable.

# %%
from counterplan import Problem

problem = Problem.from_yaml("""
counterplan: 1
name: firms
title: Loans for small firms
max_actions: 3
outcome: {column: loan, values: [granted, refused], favourable: granted}

features:
  region: {kind: category, label: your region, values: [city, country], protected: true}
  years: {kind: number, label: the age of your firm, unit: years, integer: true, bins: [0, 2, 5, 10]}
  property: {kind: category, label: your property, values: ['no', 'yes']}
  collateral: {kind: number, label: your collateral, unit: k€, integer: true, minimum: 0, maximum: 100}
  revenue: {kind: number, label: your revenue, unit: k€, integer: true, minimum: 0}
  debt: {kind: number, label: your debt, unit: k€, integer: true, minimum: 0}

functions:
  OFFER_COLLATERAL:
    add: collateral
    arguments: [10, 20, 40]
    when: property == 'yes' and collateral + argument <= 60
    cost: {base: [4, 7, 12]}
    phrase: Offer collateral of {amount} more
  RAISE_REVENUE:
    add: revenue
    arguments: [10, 20]
    when: revenue >= 50 and argument <= revenue / 5
    cost: {base: [8, 14]}
    phrase: Raise your revenue by {amount}
  REPAY:
    add: debt
    arguments: [-10, -20]
    when: debt + argument >= 0 and revenue >= 2 * debt
    cost: {base: [5, 9]}
    phrase: Repay {amount} of your debt
""")

# %% [markdown]
# ## The audit
#
# Each refused applicant either has a plan that the model confirmed, or provably has none: every state that legal
# sequences of actions reach was queried. For people without recourse, the audit tries single changes of the rules.

# %%
from counterplan import Audit

result = Audit(problem, model, groups=["region", "property"]).run(applicants)
print(result)

# %% [markdown]
# ## By group
#
# Shares of refused people who have a plan, with 95 % intervals. The dashed line is the share of everybody.

# %%
result.plot_groups()

# %% [markdown]
# A difference between groups counts if it is beyond chance after a correction for the number of comparisons (Holm).

# %%
columns = ["group", "measure", "n", "n_others", "difference", "low", "high", "p_holm", "differs"]
print(result.differences[columns].round(3).to_string(index=False))

# %% [markdown]
# ## The report
#
# All tables are DataFrames, and the report is one page without scripts, with CSV and JSON beside it.

# %%
from pathlib import Path

result.save("audit")
print(sorted(path.name for path in Path("audit").iterdir()))
