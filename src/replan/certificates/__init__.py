"""Upper bounds on regret from estimates and drift bounds alone, and the paper's theorem."""
