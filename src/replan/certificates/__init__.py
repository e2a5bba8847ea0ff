"""Upper bounds on regret from estimates and drift bounds, and the paper's theorem."""
