"""What a person shares with a team, and the copy of the team's topics that they keep."""
