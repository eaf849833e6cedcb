"""Figures of training and calibration. They know surrogates and storage; matplotlib comes with the extra `[train]`."""
