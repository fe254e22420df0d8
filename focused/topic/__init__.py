"""What a topic is: seeds, samples, words and settings, stored and as values."""
