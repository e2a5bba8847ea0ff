"""The paper's hardware experiment: a Crazyflie among poles, in wind (section 4.2)."""
