"""The weekly review: what a person should look at in their memory, each with file, line and a next step."""

from dream.report.findings import Finding, Part
from dream.report.review import Review, WeeklyReview, first_screen, report_page, review_within

__all__ = ["Finding", "Part", "Review", "WeeklyReview", "first_screen", "report_page", "review_within"]
