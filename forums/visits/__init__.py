"""Visits of boards: what a visit reads, and the threads and posts that it stores."""
