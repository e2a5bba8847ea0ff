"""Worlds: kernels, rewards, drift and the time-varying MDP made of them."""
