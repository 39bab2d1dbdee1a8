#!/usr/bin/env -S python3 -B
"""Many jobs that ranks start, on one node and over hosts: no server grows.
test/long/spawns.py has the same with ten times as many."""

from spawnlib import *


raw_points(("spawns of 2 in a row", 1000, 20, 1, 2, "child"),
           ("spawns, 64 at once", 10, 1, 64, 1, "child"),
           ("nests of jobs, 8 deep", 50, 2, 1, 1, "deep", 7),
           ("spawns of 64 that use no PMI", 100, 5, 1, 64, "none"))


@case("800 spawns that fail in five ways: nothing grows")
def failing(where):
    write_file(f"{tmp()}/broken", "#!/no/such/interpreter\n", 0o755)
    parent = script("parent", """
        c = Client(2)
        for i in range(1, 801):
            what = [command("/no/such", n=2), command(HERE + "/broken", n=2),
                    command("true", n=1, host="-"), command("true", n=0),
                    command("true", n=1, wdir="/no/such")][i % 5]
            need(spawn(c, command("sleep", "50", n=2), what)["rc"] != "0", "refused", i)
            if i % 160 == 0:
                say("at", i)
                sys.stdin.readline()
        c.finalize()
    """)
    no_growth(where, "800 spawns that fail", 800, 160, 1, parent)


main()
