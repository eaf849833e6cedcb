"""Figures of training and calibration; matplotlib comes with the extra `[train]`."""
