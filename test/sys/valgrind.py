#!/usr/bin/env -S python3 -B
"""The launcher's two processes under valgrind: no invalid access, nothing leaked.

valgrind knows no children that share their parent's memory but those of vfork, so processes
are started one after the other here."""

from lib import *

VALGRIND = ["valgrind", "-q", "--leak-check=full", "--error-exitcode=99",
            "--errors-for-leak-kinds=definite,indirect,possible",
            "--show-leak-kinds=definite,indirect,possible"]
SLURM = prog("slurm_all")


@rows([("every PMI-2 call", 0, ["-n", 3, SLURM, "all"]),
       ("labels and files", 0, ["-l", "-outfile-pattern", "/dev/null", "-n", 2, "env"]),
       ("PMI over a port", 0, ["-pmi-port", "-n", 2, SLURM, "ring"]),
       ("several programs", 5, ["-n", 2, "true", ":", "-n", 1, "sh", "-c", "exit 5"]),
       ("a rank is killed", 137, ["-hydra-banner", "-n", 2, "sh", "-c", "kill -9 $$"]),
       ("a picture of what would be", 0, ["-explain", "-svg", "-hosts", "a:3,b", "-n", 6, "true"]),
       ("could it run?", 0, ["-check", "-outfile", "@/a/%r", "-n", 2, SLURM]),
       ("a program that is not there", 127, ["-n", 2, "/no/such"]),
       ("a timeline", 0, ["-timeline", "@/t.html", "-n", 3, SLURM, "all"]),
       ("a timeline of ranks that fail", 3, ["-timeline", "@/t.json", "-n", 3, "sh", "-c",
                                             "echo words >&2; exit $((PMI_RANK + 1))"]),
       ("a wrong option", 2, ["-n", "x", "true"])])
def clean(status, words):
    words = [str(w).replace("@", tmp()) for w in words]
    out = subprocess.run([*VALGRIND, LAUNCHER, "-start-window", "1", *words],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=4 * LIMIT,
                         env=environment(new_mark()))
    said = [x for x in out.stderr.decode(errors="replace").splitlines() if x.startswith("==")]
    same(said, [], "what valgrind says")
    same(out.returncode, status, f"status; stderr {out.stderr}")


need(os.path.exists("/usr/bin/valgrind"), "valgrind")
if b"__asan_init" in open(LAUNCHER, "rb").read():
    print("1..1\nok 1 - valgrind # SKIP the sanitizers in this launcher look for the same")
else:
    main()
