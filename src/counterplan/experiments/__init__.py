"""The paper's evaluation, reproduced and extended: `counterplan experiment`.

`settings` says what is run, `cells` cuts it into pieces that are each done once, `running` does them, `rows` are what
comes out; `tables`, `figures`, `story` and `report` are pure functions of the rows. It knows all but the command line.
"""
