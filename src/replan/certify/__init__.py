"""What can be promised."""

from replan.certify.certificate import Certificate, Tightening, certify
from replan.certify.diameter import diameter
from replan.certify.knowledge import Estimate, Known
from replan.certify.mixing import overlap_coefficient
from replan.certify.theorem import Theorem, theorem

__all__ = [
    "Certificate",
    "Estimate",
    "Known",
    "Theorem",
    "Tightening",
    "certify",
    "diameter",
    "overlap_coefficient",
    "theorem",
]
