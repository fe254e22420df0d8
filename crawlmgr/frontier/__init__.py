"""The frontier: addresses and hosts, fetching, the pool of requests in flight, pages of hosts."""
