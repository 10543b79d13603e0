"""Runs the caches of libCacheSim on a trace, and prints their hits and fills as JSON.

Arguments: the trace in libCacheSim's format oracleGeneral, the capacity, and the number of requests that only
warm the caches up. Every miss is a fill, as in a cache on the path of the viewers.
"""

import json
import sys

import libcachesim

CACHES = ["WTinyLFU", "S3FIFO", "Sieve", "LRU", "Belady"]


def main():
    trace, capacity, warm_up = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for name in CACHES:
        reader = libcachesim.TraceReader(trace, libcachesim.TraceType.ORACLE_GENERAL_TRACE)
        cache = getattr(libcachesim, name)(capacity)
        requests = hits = filled = 0
        for number, request in enumerate(reader):
            is_hit = cache.get(request)
            if number >= warm_up:
                requests += 1
                hits += is_hit
                filled += 0 if is_hit else request.obj_size
        print(json.dumps({"cache": name, "requests": requests, "hits": hits, "filled": filled}))


main()
