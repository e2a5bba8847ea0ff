"""The report as one HTML page that needs no network: tables, charts and the robot's way, in any browser."""
