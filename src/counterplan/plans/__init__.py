"""Plans: what planners return, as columns and as objects that print, replay and serialize."""
