"""Reasons for the steps of any plan."""
