"""Ratings: the final table's, over all results at once, and the running ladder's, game by game."""

from croupier_server.ratings.final import Rating, rate
from croupier_server.ratings.ladder import LadderRating, LadderRatings, ladder_ratings

__all__ = ["LadderRating", "LadderRatings", "Rating", "ladder_ratings", "rate"]
