"""The evaluation of the paper, reproduced and extended: `counterplan experiment`.

`settings` defines an experiment, `cells` divides it into units of work that run once, `running` schedules them, and
`rows` holds the results. `statistics`, `budgets`, `comparisons`, `tables`, `figures`, `findings` and `report` are pure
functions of the rows.

May import: everything but causal, cli.
"""
