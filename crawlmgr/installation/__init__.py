"""What belongs to an installation of the program: its own files, and libraries that may be
missing."""
