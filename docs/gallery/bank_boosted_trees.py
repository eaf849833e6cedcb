# %% [markdown]
# # A bank with boosted trees
#
# A bank decides about credit cards with LightGBM. Its table has categories and gaps, which the model uses as they are:
# nothing is encoded or imputed. Plans keep both. The people are clients of a bank in Taiwan
# ([the data](../benchmarks.md)). Run the cells of [the notebook](bank_boosted_trees.ipynb), or
# [the script](bank_boosted_trees.py); LightGBM has to be installed.
#
# ## Data
#
# Texts become pandas categories. Some clients did not state their education, and without a bill there is no share of it
# that was paid.

# %%
from counterplan import benchmarks

taiwan = benchmarks.load("taiwan")
train, applicants = taiwan.train.iloc[:6_000].copy(), taiwan.test.iloc[:200].copy()
CATEGORIES = ["sex", "marriage", "education", "repayment", "earlier_repayment"]
train[CATEGORIES] = train[CATEGORIES].astype("category")
gaps = train.isna().sum()
print(f"{len(train):,} people, {train.shape[1]} columns. Missing values:")
print(gaps[gaps > 0].to_string())

# %% [markdown]
# ## Model
#
# The model predicts whether a client makes the next payment. The bank refuses everybody whose chance to pay is below
# 80 %, so that the chance is a score with a threshold.

# %%
from lightgbm import LGBMClassifier

features = [name for name in train.columns if name != "next_payment"]
settings = {"n_estimators": 80, "num_leaves": 15, "random_state": 0, "n_jobs": 1, "verbose": -1}
model = LGBMClassifier(**settings).fit(train[features], train["next_payment"])
print(f"classes {model.classes_.tolist()}, {model.n_features_in_} columns")

# %% [markdown]
# ## The black box
#
# LightGBM knows the categories that it was trained on. The applicants come with plain texts, and are cast to these
# categories on every query.

# %%
from counterplan import BlackBox
from counterplan.models import adapt, dtypes_of

box = BlackBox(model, threshold=0.8)
print(applicants["education"].dtype, "becomes", dtypes_of(adapt(model))["education"].categories.to_list())

# %% [markdown]
# ## Plans
#
# The problem file says what clients can do: catch up on late payments, pay more, ask for another limit. Exact search
# finds the cheapest plan of each refused client, or proves that there is none.

# %%
from collections import Counter

from counterplan import ExactPlanner

plans = ExactPlanner(taiwan.problem, box).plan(applicants)
print(Counter(str(plan.status) for plan in plans))

# %% [markdown]
# The first client with gaps who has a plan: values that are missing at the start stay missing.

# %%
incomplete = applicants[features].isna().any(axis=1).to_numpy()
plan = next(plan for plan, gap in zip(plans, incomplete, strict=True) if gap and plan.status == "found")
print(plan)
print("missing:", [name for name, value in plan.start.items() if value is None])

# %% [markdown]
# ## Check
#
# A plan can be replayed: every step is legal, and the model decides favourably at its end.

# %%
found = [plan for plan in plans if plan.status == "found"]
print(f"{sum(plan.replay(taiwan.problem, box).ok for plan in found)} of {len(found)} plans hold")
print(f"median cost {sorted(plan.cost for plan in found)[len(found) // 2]:.1f}")

# %% [markdown]
# ## Costs
#
# The costs of the plans of all clients.

# %%
plans.plot()
