"""Estimators: kernels learned from what updates reveal."""
