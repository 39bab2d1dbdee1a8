#!/usr/bin/python3 -I
"""token.py - a set-up provider that hands out a token for each job.

Its ranks, on all nodes, and nobody else find it in their environment and as job-level
information (PMIX_ALLOC_FABRIC_SEC_KEY by PMIx_Get, or by PMI2_Info_GetJobAttr).  A network that parts jobs
by keys would ask its manager for one here; this one makes it up.
See mpiexec_lite-providers(7)."""

import json
import secrets
import sys


def answer(request):
    if request["hook"] == "describe":
        return {"hooks": ["setup-application"], "timeout": 10}
    token = secrets.token_hex(16)
    return {"infos": [
        {"key": "pmix.envar.set", "type": "PMIX_ENVAR",
         "value": {"envar": "JOB_TOKEN", "value": token}},
        {"key": "example.token", "type": "PMIX_STRING", "value": token},
    ]}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
