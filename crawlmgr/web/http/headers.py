"""Names of request headers that hold no secret."""

# Request headers that never contain secrets. The value of any other header may be a key, so it is
# neither shown nor archived.
PLAIN_HEADERS = frozenset(
    (
        "accept",
        "accept-charset",
        "accept-encoding",
        "accept-language",
        "cache-control",
        "connection",
        "content-length",
        "content-type",
        "dnt",
        "from",
        "host",
        "if-modified-since",
        "if-none-match",
        "pragma",
        "referer",
        "sec-gpc",
        "te",
        "upgrade-insecure-requests",
        "user-agent",
        "x-requested-with",
    )
)
