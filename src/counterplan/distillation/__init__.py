"""How programs are made: demonstrations, policy search, trees, fallbacks, imitation, trial and card."""
