"""Whether a page is on topic: similarity to the topic, what a run learns, and marks of users."""
