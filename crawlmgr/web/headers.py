"""Names of request headers that hold no secret."""

# Request headers without secrets; the value of any other may be a key, and is neither shown nor archived.
PLAIN_HEADERS = frozenset((
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection", "content-length",
    "content-type", "dnt", "from", "host", "if-modified-since", "if-none-match", "pragma", "referer", "sec-gpc", "te",
    "upgrade-insecure-requests", "user-agent", "x-requested-with",
))  # fmt: skip
