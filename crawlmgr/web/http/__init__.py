"""HTTP: the guarded client, its pool of threads, and one exchange of request and response."""
