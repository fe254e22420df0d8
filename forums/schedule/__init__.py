"""Rates of boards, timetables, and the adaptive policy: the laws of the forum paper and ours."""
