from .run import read_run as read_run
