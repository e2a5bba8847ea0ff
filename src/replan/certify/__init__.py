"""What can be promised."""

from replan.certify.ahead import certify_ahead
from replan.certify.certificate import Certificate, Tightening, certify
from replan.certify.certified import Certified
from replan.certify.diameter import diameter
from replan.certify.knowledge import Estimate, Known
from replan.certify.learned import Transitions, learned_estimate
from replan.certify.mixing import overlap_coefficient
from replan.certify.promise import Promise, promise
from replan.certify.theorem import Theorem, theorem

__all__ = [
    "Certificate",
    "Certified",
    "Estimate",
    "Known",
    "Promise",
    "Theorem",
    "Tightening",
    "Transitions",
    "certify",
    "certify_ahead",
    "diameter",
    "learned_estimate",
    "overlap_coefficient",
    "promise",
    "theorem",
]
