"""What can be promised."""

from replan.certify.certificate import Certificate, Tightening, certify
from replan.certify.knowledge import Estimate, Known

__all__ = ["Certificate", "Estimate", "Known", "Tightening", "certify"]
