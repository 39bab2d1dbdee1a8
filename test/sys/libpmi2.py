#!/usr/bin/env -S python3 -B
"""Our libpmi2 as others use it: in place of Slurm's, under Hydra, alone, by threads,
through our own header, static and shared; and what an installation gives."""

import re

from lib import *

LIB = os.path.join(B, "lib")
PROGS = os.path.join(ROOT, "test", "progs")
OURS = {"LD_LIBRARY_PATH": LIB}


def build(name, *flags):
    """test/progs/NAME.c, compiled with these flags into the test's own folder."""
    out = f"{tmp()}/{name}"
    subprocess.run(["cc", "-Wall", "-Werror", "-O1", "-o", out, f"{PROGS}/{name}.c", *flags],
                   check=True)
    return out


def ours(name):
    return build(name, f"-I{ROOT}/pmi2", f"-L{LIB}", "-lpmi2", "-lpthread", f"-Wl,-rpath,{LIB}")


def is_sanitized():
    return b"__asan" in subprocess.run(["nm", "-D", f"{LIB}/libpmi2.so.0"],
                                       stdout=subprocess.PIPE, check=True).stdout


def all_ok(n, *words, options=(), **more):
    r = run(*options, "-n", n, *words, **more)
    same(r.status, 0, f"status of {r}")
    same(sorted(r.lines), sorted(f"rank {i}: ok" for i in range(n)), f"output of {r}")


PLACES = [("one host", []), ("three hosts", ["-launcher", "fork", "-hosts", "h[0-2]:2"])]


@rows([(f"every call, {n} ranks, Slurm's library, {where}", n, options)
       for where, options in PLACES for n in (1, 4, 16)])
def with_slurm(n, options):
    all_ok(n, build("pmi2_all", "-lpmi2"), options=options)


@rows([(f"every call, {n} ranks, the same binary with ours in LD_LIBRARY_PATH, {where}", n, options)
       for where, options in PLACES for n in (1, 4, 16)])
def drop_in(n, options):
    need(os.path.exists(f"{LIB}/libpmi2.so.0"), "our library")
    all_ok(n, build("pmi2_all", "-lpmi2"), env=preloaded(OURS), options=options)


def api(header):
    """The functions that a header declares."""
    with open(header, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    return set(re.findall(r"^(?:const char \*|extern int |int )(PMI2_\w+|PMIX_Ring)\s*\(", text,
                          re.M))


def called(program, *words, options=(), env=None, n=4, status=0):
    """The functions of libpmi2 that a job's processes have called: each is bound by its first
    call, and ld.so says so."""
    r = run(*options, "-genv", "LD_DEBUG=bindings", "-genv", f"LD_DEBUG_OUTPUT={tmp()}/bound",
            "-n", n, program, *words, env=env)
    same(r.status, status, f"status of {r}")
    seen = set()
    for name in os.listdir(tmp()):
        if name.startswith("bound."):
            with open(f"{tmp()}/{name}", encoding="utf-8", errors="replace") as f:
                seen |= set(re.findall(r"binding file \S*/pmi2_\w+ \[0\] to \S*libpmi2\.so\.0 "
                                       r"\[0\]: normal symbol `(\w+)'", f.read()))
            os.unlink(f"{tmp()}/{name}")
    return seen


LAZY = ["-Wl,-z,lazy", "-lpthread", "-ldl"]


@rows([(f"no function of Slurm's header is left out, {library}, {where}", ours_too, options)
       for library, ours_too in (("its library", False), ("ours", True))
       for where, options in PLACES])
def slurm_functions(ours_too, options):
    env = preloaded(OURS) if ours_too else None
    more = {"env": env, "options": options}
    seen = (called(build("pmi2_all", "-lpmi2", *LAZY), **more) |
            called(build("pmi2_spawn", "-D_GNU_SOURCE", "-lpmi2", *LAZY), "parent", n=2, **more) |
            called(build("pmi2_abort", "-lpmi2", *LAZY), status=1, **more))
    wanted = api("/usr/include/slurm/pmi2.h")
    need(len(wanted) >= 21, "functions of the header", wanted)
    same(sorted(wanted - seen), [], "functions that were not called")


@rows([(f"no function of our header is left out, {where}", options) for where, options in PLACES])
def our_functions(options):
    flags = [f"-I{ROOT}/pmi2", f"-L{LIB}", "-lpmi2", f"-Wl,-rpath,{LIB}", *LAZY]
    more = {"env": preloaded({}), "options": options}
    seen = (called(build("pmi2_ours", *flags), **more) |
            called(build("pmi2_ours", *flags), "shrink", status=1,
                   **{**more, "options": [*options, "-disable-auto-cleanup"]}) |
            called(build("pmi2_mpich_style", *flags), **more) |
            called(build("pmi2_all", *flags, "-lpmi2"), **more) |
            called(build("pmi2_spawn", "-D_GNU_SOURCE", "-DMPICH_STYLE", *flags), "parent", n=2,
                   **more))
    wanted = api(f"{ROOT}/pmi2/pmi2.h")
    same(len(wanted), 31, f"functions of {wanted}")
    same(sorted(wanted - seen), [], "functions that were not called")


@rows([(f"what only our library has, {n} ranks, {where}", n, options)
       for where, options in PLACES for n in (1, 2, 6)])
def only_ours(n, options):
    all_ok(n, ours("pmi2_ours"), env=preloaded({}), options=options)


@rows([(f"-disable-auto-cleanup: PMI2_Abort(0) ends its caller alone, {where}", options)
       for where, options in PLACES])
def shrink(options):
    r = run(*options, "-disable-auto-cleanup", "-n", 4, ours("pmi2_ours"), "shrink",
            env=preloaded({}))
    same((r.status, sorted(r.lines)), (1, [f"rank {i}: ok" for i in range(3)]), f"end of {r}")
    same(len(r.messages), 1, f"messages of {r}")
    need("rank 3 " in r.messages[0] and "only me" in r.messages[0], "who, and why", repr(r))


def preloaded(env):
    """A sanitized library needs its runtime to be there first."""
    if not is_sanitized():
        return env
    asan = subprocess.run(["cc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE,
                          check=True, text=True).stdout.strip()
    return {**env, "LD_PRELOAD": asan, "ASAN_OPTIONS": "detect_leaks=0"}


@test("many threads with calls in flight")
def threads():
    if is_sanitized():
        all_ok(2, build("pmi2_threads", f"-I{ROOT}/pmi2", f"-L{LIB}", "-lpmi2", "-lpthread",
                        f"-Wl,-rpath,{LIB}"), 8, 10, env=preloaded({}))
    else:
        all_ok(2, ours("pmi2_threads"), 32, 20)


@test("a program in MPICH's style, through our header")
def mpich_style():
    all_ok(3, ours("pmi2_mpich_style"), env=preloaded({}))


@test("the static library")
def static():
    wanted = subprocess.run(["nm", f"{LIB}/libpmi2.a"], stdout=subprocess.PIPE, check=True).stdout
    more = ["-fsanitize=address,undefined"] if is_sanitized() else []
    more += ["--coverage"] if b"gcov" in wanted else []      # of a build for "make cover"
    all_ok(2, build("pmi2_mpich_style", f"-I{ROOT}/pmi2", f"{LIB}/libpmi2.a", "-lpthread", *more))


@test("nothing but the API is exported, shared and static")
def exports():
    for flags, file in (["-D"], "libpmi2.so.0"), (["-g"], "libpmi2.a"):
        names = subprocess.run(["nm", "--defined-only", *flags, f"{LIB}/{file}"], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        api = [x.split()[-1] for x in names.splitlines() if len(x.split()) == 3]
        odd = [x for x in api if not x.startswith(("PMI2_", "PMIX_Ring", "__odr_asan"))]
        same((odd, len([x for x in api if x.startswith("PMI")])), ([], 31), f"names in {file}")


@rows([(f"{name}, {where}", env, each, options) for where, options in PLACES for name, env, each in
       (("constants cost no request", OURS, 0), ("Slurm's library asks for each", {}, 1))])
def constants(env, each, options):
    trace = f"{tmp()}/trace"
    r = run(*options, "-usize", 7, "--trace-wire", trace, "-n", 4, build("pmi2_all", "-lpmi2"),
            env=preloaded(env) if env else None)
    same(r.status, 0, f"status of {r}")
    with open(trace, encoding="utf-8", errors="replace") as f:
        asked = [x for x in f if "info-get" in x and "response" not in x]
    for key in "universeSize", "PMI_process_mapping", "localRanks", "localRanksCount":
        seen = [x for x in asked if f"key={key};" in x]
        need(len(seen) >= 4 if each else not seen, f"requests for {key}", *seen)


@test("without a launcher, where none may be started: a job of one")
def singleton():
    env = environment(new_mark(), preloaded({**OURS, "PMI2_LAUNCHER": ""}))
    r = subprocess.run([build("pmi2_all", "-lpmi2")], stdout=subprocess.PIPE, timeout=LIMIT,
                       env=env, check=True)
    same(r.stdout, b"rank 0: ok\n", "output")


@test("under MPICH's mpiexec")
def under_hydra():
    env = environment(new_mark(), preloaded(OURS))
    r = subprocess.run(["mpiexec.mpich", "-n", "3", build("pmi2_all", "-lpmi2")], env=env,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT,
                       stdin=subprocess.DEVNULL)
    same((r.returncode, sorted(r.stdout.splitlines())),
         (0, [f"rank {i}: ok".encode() for i in range(3)]), "result")


@test("an installation: program, manual, completion; a program built by pkg-config runs")
def installed():
    there = f"{tmp()}/there"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    subprocess.run(["make", "-s", f"B={os.path.relpath(B, ROOT)}", f"PREFIX={there}", "install"],
                   cwd=ROOT, env={**env, "CFLAGS": "-O2 -g"}, check=True,
                   stdout=subprocess.DEVNULL, timeout=300)
    for file in ("share/man/man1/mpiexec_lite.1", "share/man/man3/libpmi2.3", "bin/mpiexec_lite",
                 "share/bash-completion/completions/mpiexec_lite", "lib/mpiexec_lite/libpmi2.so.0"):
        need(os.path.getsize(f"{there}/{file}") > 100, file)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "mpiexec_lite-pmi2"],
                           env={**os.environ, "PKG_CONFIG_PATH": f"{there}/lib/pkgconfig"},
                           stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    program = build("pmi2_mpich_style", *flags, "-lpthread")
    r = subprocess.run([f"{there}/bin/mpiexec_lite", "-n", "2", program], stdout=subprocess.PIPE,
                       env=environment(new_mark(), preloaded({})), timeout=LIMIT, check=True)
    same(sorted(r.stdout.splitlines()), [b"rank 0: ok", b"rank 1: ok"], "output")


PAGES = (f"{B}/man/mpiexec_lite.1", f"{ROOT}/mpiexec_lite/pmi2_proxy.1", f"{ROOT}/mpiexec_lite/pmi2_server.1",
         f"{ROOT}/mpiexec_lite/mpiexec_lite-providers.7", f"{ROOT}/pmi2/libpmi2.3",
         f"{ROOT}/pmix_ext/libpmix_ext.3", f"{ROOT}/pmix_ext/pmix_tool.1", f"{B}/man/pmix_ext-protocol.7")


def rendered(page):
    r = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", page], env={**os.environ, "MANWIDTH": "100",
                       "LC_ALL": "C.UTF-8"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    same(r.stderr, b"", f"warnings of {page}")
    return r.stdout.decode()


@test("the manuals are clean")
def manuals():
    for page in PAGES:
        need(len(rendered(page)) > 2000, f"text of {page}")


@test("the manual of the wire has what its source has: each command, each example")
def manual_of_the_wire():
    there = {re.sub(r"\s+", "", line) for line in rendered(PAGES[-1]).splitlines()}
    with open(f"{ROOT}/pmix_ext/PROTOCOL.md", encoding="utf-8") as f:
        lines = f.read().splitlines()
    kept = [line for line in lines if line.startswith(("    ", "### "))]
    need(sum(line.startswith("### pmix-") for line in kept) > 20, "commands")
    missing = [line for line in kept if re.sub(r"\s+", "", line.removeprefix("### ")) not in there]
    same(missing, [], "lines that the manual has lost")


main()
