"""The report as one HTML page that needs no network: tables, charts and the robot's way, in any browser."""

from replan.report.page.records import write_records_page, write_run_page
from replan.report.page.study import write_page

__all__ = ["write_page", "write_records_page", "write_run_page"]
