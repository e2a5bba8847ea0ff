"""The explorer: drag update times along the horizon and see what they cost."""
