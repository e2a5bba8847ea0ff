"""Upper bounds on regret from estimates and drift bounds alone, and the paper's theorem."""

from replan.certificates.certificate import Certificate, Tightening, certify
from replan.certificates.certified import Certified
from replan.certificates.in_advance import certify_ahead
from replan.certificates.mixing import diameter, overlap_coefficient
from replan.certificates.premises import KernelEstimate, Premises, learned_estimate, learned_estimates
from replan.certificates.promised_budget import Promise, promise
from replan.certificates.regret_bound import Theorem, theorem

__all__ = [
    "Certificate",
    "Certified",
    "KernelEstimate",
    "Premises",
    "Promise",
    "Theorem",
    "Tightening",
    "certify",
    "certify_ahead",
    "diameter",
    "learned_estimate",
    "learned_estimates",
    "overlap_coefficient",
    "promise",
    "theorem",
]
