"""The report as one HTML page that needs no network: tables, charts and the robot's way, in any browser."""

from replan.report.page.run_page import sentence, write_page

__all__ = ["sentence", "write_page"]
