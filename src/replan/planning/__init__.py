"""Planning if the estimate holds, and the optimum if everything is known."""
