#!/usr/bin/env -S python3 -B
"""Ten thousand jobs that ranks start, on one node and over hosts: no server grows.

COUNT=1000 makes it as short as that."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "sys"))

from spawnlib import *                                  # noqa: E402

COUNT = int(os.environ.get("COUNT") or 10000)

raw_points(("spawns of 2 in a row", COUNT, 20, 1, 2, "child"),
           ("spawns, 64 at once", COUNT // 64 // LOOKS * LOOKS, 1, 64, 1, "child"),
           ("nests of jobs, 8 deep", COUNT // 20, 2, 1, 1, "deep", 7), limit=600)

main(threads=1)
