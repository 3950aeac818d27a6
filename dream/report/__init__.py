"""The weekly review: what a person should look at in their memory, each with file, line and a next step."""

from dream.report.findings import Concern, Finding
from dream.report.review import Review, WeeklyReview, first_screen, limit_review, report_page

__all__ = ["Concern", "Finding", "Review", "WeeklyReview", "first_screen", "limit_review", "report_page"]
