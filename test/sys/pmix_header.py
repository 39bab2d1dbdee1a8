#!/usr/bin/env -S python3 -B
"""pmix_ext.h against the header of libpmix 4.2.2, where that is installed.

Both define the same names, so neither file may include both.  What the other has is read
from its text, after the preprocessor; a C program is made of that, compiled once with each
header, and what the two print must be equal.  So nothing here lists a name: what the other
header has is what is compared."""

import re

from lib import *

OURS = ["-I", os.path.join(ROOT, "pmix_ext", "std")]
WARN = ["-Wall", "-Wextra", "-Werror"]
HEADERS = "".join(f"#include <{h}>\n" for h in ("pmix.h", "pmix_tool.h", "pmix_server.h"))
# What the types of values are called in the other header's comments.
TYPES = {
    "bool": "BOOL", "char*": "STRING", "int": "INT", "int32_t": "INT32", "uint16_t": "UINT16",
    "uint32_t": "UINT32", "uint64_t": "UINT64", "size_t": "SIZE", "float": "FLOAT",
    "double": "DOUBLE", "pid_t": "PID", "time_t": "TIME", "pointer": "POINTER",
    "void*": "POINTER", "struct event_base *": "POINTER", "hwloc_topology_t": "POINTER",
    "varies": "UNDEF", "pmix_status_t": "STATUS", "pmix_rank_t": "PROC_RANK",
    "pmix_proc_t*": "PROC", "pmix_byte_object_t": "BYTE_OBJECT",
    "pmix_data_array_t*": "DATA_ARRAY", "pmix_envar_t*": "ENVAR", "pmix_scope_t": "SCOPE",
    "pmix_data_range_t": "DATA_RANGE", "pmix_persistence_t": "PERSIST",
    "pmix_proc_state_t": "PROC_STATE", "pmix_link_state_t": "LINK_STATE",
    "pmix_cpuset_t*": "PROC_CPUSET", "pmix_topology_t*": "TOPO", "pmix_geometry_t": "GEOMETRY",
    "pmix_device_type_t": "DEVTYPE", "pmix_storage_medium_t": "STOR_MEDIUM",
    "pmix_storage_accessibility_t": "STOR_ACCESS",
    "pmix_storage_persistence_t": "STOR_PERSIST",
    "pmix_storage_access_type_t": "STOR_ACCESS_TYPE",
}


def theirs():
    """The compiler's words for libpmix's header."""
    found = subprocess.run(["pkg-config", "--cflags", "--define-prefix", "pmix"],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if found.returncode:
        raise Skip("libpmix-dev is not installed")
    words = found.stdout.split()
    if "PMIX_NUMERIC_VERSION 0x00040202" not in gcc("-E -dM -x c -", words, HEADERS):
        raise Skip("the libpmix here is not 4.2.2")
    return words


def gcc(how, include, text, cc="gcc"):
    """What the compiler prints; fails with what it says is wrong."""
    run = subprocess.run([cc, *how.split(), *include], input=text, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp())
    need(run.returncode == 0, f"{cc} {how}", run.stderr[:1500])
    return run.stdout


def printed(include, text):
    """What a program prints."""
    out = os.path.join(tmp(), "prog")
    gcc(f"-w -x c -o {out} -", include, text)
    return subprocess.run([out], stdout=subprocess.PIPE, text=True, check=True).stdout


def declared(include):
    """Their own declarations: statements without those of the system's headers."""
    keep, lines = False, []
    for line in gcc("-E -D__attribute__(x)= -x c -", include, HEADERS).splitlines():
        if line.startswith("# "):
            keep = "/pmix" in line.split('"')[1]
        elif keep:
            lines.append(line)
    return "\n".join(lines)


def statements(include):
    """(typedefs that are no structs or enums, prototypes): name and text of each."""
    typedefs, functions = {}, {}
    for text in declared(include).split(";"):
        text = " ".join(text.split())
        pointer = re.fullmatch(r"typedef .*\(\* ?(\w+)\) ?\(.*\)", text)
        plain = re.fullmatch(r"typedef [^{}()]*?(\w+)(\[[^\]]*\])?", text)
        function = re.search(r"(?:^|\} )((?:extern )?[\w *]*?\b(PMIx_\w+) ?\([^{}]*\))$", text)
        if pointer or plain:
            typedefs[(pointer or plain)[1]] = text
        elif function:
            functions[function[2]] = function[1]
    return typedefs, functions


def macros(include):
    """Name and parameters ('' if it has none) of each macro of the standard."""
    found = re.findall(r"#define (PMI[Xx]_\w+)(\([^)]*\))? ",
                       gcc("-E -dM -x c -", include, HEADERS))
    return dict((n, p) for n, p in found if not n.endswith("_H"))


@test("every constant has libpmix's number, and every key its spelling")
def constants():
    words = theirs()
    names = sorted(n for n, p in macros(words).items()
                   if not p and not n.endswith("_STATIC_INIT") and n != "PMIX_EXPORT")
    need(len(names) > 850, "names were found", len(names))
    show = ('static void number(const char *n, long long v) { printf("%s %lld\\n", n, v); }\n'
            'static void key(const char *n, const char *v) { printf("%s %s\\n", n, v); }\n'
            "#define SHOW(n) _Generic((n), char *: key, default: number)(#n, n)\n")
    enums = re.findall(r"PMIX_\w+", "".join(re.findall(r"enum \{([^}]*)\}", declared(words))))
    need(len(enums) > 14, "members of enums were found", enums)
    body = "".join(f'key("", "{n}"), SHOW({n});\n' for n in names + enums)
    text = f"{HEADERS}{show}int main(void) {{ {body} return 0; }}\n"
    same(printed(OURS, text), printed(words, text), "the constants")


@test("every struct has libpmix's size, and every member its place")
def layouts():
    words = theirs()
    text = declared(words)
    lines, structs = [], re.findall(r"typedef struct ?\w* ?\{(.*?)\n\} (\w+);", text, re.S)
    need(len(structs) > 23, "structs were found", [n for _, n in structs])
    for body, name in structs:
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        union = re.search(r"union \{(.*)\} data;", body, re.S)
        for place, part in (("data.", union[1]), ("", "pmix_data_type_t type; x data;")) \
                if union else (("", body),):
            for member in re.findall(r"(\w+)(?:\[[^\]]*\])? *;", part):
                at = place + member
                lines.append(f'printf("{name}.{at} %zu %zu\\n", offsetof({name}, {at}), '
                             f"sizeof((({name} *)0)->{at}));")
    program = (f"#include <stddef.h>\n{HEADERS}int main(void) {{ " + "\n".join(lines) +
               " return 0; }\n")
    same(printed(OURS, program), printed(words, program), "sizes and places")


@test("every type and every call is declared as libpmix declares it")
def prototypes():
    words = theirs()
    typedefs, functions = statements(words)
    need(len(typedefs) > 60 and len(functions) > 130, "declarations were found", len(typedefs),
         len(functions))
    used = "".join(f"(void)&{n};\n" for n in functions)
    again = "".join(f"{t};\n" for t in [*typedefs.values(), *functions.values()])
    known = "".join(f"(void)sizeof({t});\n" for t in typedefs)
    # A second declaration that differs from the first is an error; one that nothing came
    # before is none, so each is used first.
    gcc("-std=c17 -fsyntax-only -w -x c -", OURS,
        f"{HEADERS}void f(void);\nvoid f(void) {{ {used}{known} }}\n{again}")


# The calls of the standard by how much they are wanted: 1 for tools and Open MPI, 2 useful, 3
# may answer PMIX_ERR_NOT_SUPPORTED.  "+": there is an _nb form, too.
LEVELS = {
    1: """Init Finalize Initialized Abort Get_version Store_internal Put Commit Fence+ Get+ Publish+
        Lookup+ Unpublish+ Spawn+ Connect+ Disconnect+ Resolve_peers Resolve_nodes Query_info+ Log+
        Job_control+ Register_event_handler Deregister_event_handler Notify_event tool_init
        tool_finalize tool_attach_to_server tool_connect_to_server tool_disconnect IOF_pull
        IOF_deregister IOF_push server_init server_finalize generate_regex generate_ppn
        server_register_nspace server_deregister_nspace server_register_client
        server_deregister_client server_setup_fork server_dmodex_request server_setup_application
        server_setup_local_support server_IOF_deliver Error_string Proc_state_string
        Job_state_string Scope_string Persistence_string Data_range_string Data_type_string
        Alloc_directive_string IOF_channel_string Link_state_string Device_type_string
        Value_comparison_string Get_attribute_string Get_attribute_name Info_directives_string
        Info_string Value_string Value_load Value_unload Value_xfer Value_destruct Value_compare
        Info_load Info_xfer Info_list_start Info_list_add Info_list_insert Info_list_xfer
        Info_list_convert Info_list_release Data_array_destruct Data_pack Data_unpack Data_copy
        Data_print Data_load Data_unload Data_embed Data_copy_payload Data_compress
        Data_decompress""",
    2: "Progress Process_monitor+ Heartbeat tool_get_servers tool_set_server",
    3: """Allocation_request+ Get_credential+ Validate_credential+ Group_construct+ Group_invite+
        Group_join+ Group_leave+ Group_destruct+ Fabric_register+ Fabric_update+ Fabric_deregister+
        Compute_distances+ Load_topology Parse_cpuset_string Get_cpuset Get_relative_locality
        server_collect_inventory server_deliver_inventory server_register_resources
        server_deregister_resources server_define_process_set server_delete_process_set
        server_generate_locality_string server_generate_cpuset_string Register_attributes""",
}
# Of level 1 what a host would need whose own children are the clients; here they are a
# launcher's (head of pmix_ext_server.h).
NOT_HERE = {"PMIx_server_dmodex_request", "PMIx_server_IOF_deliver"}


@test("every call of the standard is in the library, blocking and not; none that is wanted says no")
def calls():
    found = subprocess.run(["nm", "-D", "--defined-only", f"{B}/lib/libpmix_ext.so.0"], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    there = set(re.findall(r" [TW] (PMIx_\w+)", found))
    with open(os.path.join(ROOT, "pmix_ext", "unsupported.c")) as f:
        refused = set(re.findall(r"^pmix_status_t (PMIx_\w+)\(", f.read(), re.M))
    wanted = {level: {form for name in text.split() for form in
                      [f"PMIx_{name.rstrip('+')}"] + [f"PMIx_{name[:-1]}_nb"] * name.endswith("+")}
              for level, text in LEVELS.items()}
    for level, names in wanted.items():
        same(sorted(names - there), [], f"of level {level} not in the library")
    same((wanted[1] | wanted[2]) & refused, NOT_HERE, "wanted, and answers PMIX_ERR_NOT_SUPPORTED")
    same(sorted(refused - wanted[3] - NOT_HERE), [], "what says no is optional")


@test("every call that libpmix's header declares is in the library")
def all_calls():
    found = subprocess.run(["nm", "-D", "--defined-only", f"{B}/lib/libpmix_ext.so.0"], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    there = set(re.findall(r" [TW] (PMIx_\w+)", found))
    declared_there = set(statements(theirs())[1])
    need(len(declared_there) > 120, "calls were found", len(declared_there))
    same(sorted(declared_there - there), [], "not in the library")


@test("every macro is there, with as many arguments")
def all_macros():
    words = theirs()
    ours = macros(OURS)
    wrong = [n + p for n, p in macros(words).items()
             if n != "PMIx_Heartbeat" and
             (n not in ours or p.count(",") != ours[n].count(",") or bool(p) != bool(ours[n]))]
    same(wrong, [], "macros that differ")


@test("every key has a row in attributes.def, with the type libpmix's header says")
def attributes_table():
    ours = dict(re.findall(r"^ATTRIBUTE\((\w+), PMIX_(\w+)\)$",
                           open(os.path.join(ROOT, "pmix_ext", "attributes.def")).read(), re.M))
    keys = re.findall(r'^#define (PMIX_\w+) +"pmix\.(?!undef)',
                      open(os.path.join(ROOT, "pmix_ext", "pmix_ext_keys.h")).read(), re.M)
    same(sorted(ours), sorted(keys), "names with a row")
    folder = next(w[2:] for w in theirs() if w.startswith("-I"))
    said = {}
    for name in ("pmix_common.h", "pmix_deprecated.h"):
        with open(os.path.join(folder, name)) as f:
            said.update(re.findall(r'^#define (PMIX_\w+) +"[^"]*" *// \(([^)]*)\)', f.read(),
                                   re.M))
    same({n: t for n, t in ours.items() if n in said}, {n: TYPES[t] for n, t in said.items()},
         "types")


@test("every status has a row in statuses.def")
def statuses_table():
    text = open(os.path.join(ROOT, "pmix_ext", "pmix_ext_common.h")).read()
    part = text[text.index("typedef int pmix_status_t;"):text.index("/* --- types of data")]
    names = [n for n in re.findall(r"^#define (PMIX_\w+) +[^\"\n]+$", part, re.M)
             if n != "PMIX_EXTERNAL_ERR_BASE"]
    rows_ = re.findall(r'^STATUS\((\w+), ".+"\)$',
                       open(os.path.join(ROOT, "pmix_ext", "statuses.def")).read(), re.M)
    same(sorted(rows_), sorted(names), "names with a row")


@rows([(f"the header alone, {cc} {std}", cc, std) for cc, std in
       (("gcc", "-x c -std=c99"), ("gcc", "-x c -std=c17"), ("clang", "-x c -std=c99"),
        ("g++", "-x c++ -std=c++11"), ("clang++", "-x c++ -std=c++11"))])
def alone(cc, std):
    init = re.findall(r"#define (PMIX_(\w+)_STATIC_INIT)", open(
        os.path.join(ROOT, "pmix_ext", "pmix_ext_values.h")).read())
    special = {"LOOKUP": "pmix_pdata_t", "DEVICE_DIST": "pmix_device_distance_t"}
    lines = "".join(f"{special.get(t, 'pmix_' + t.lower() + '_t')} v_{t} = {n};\n"
                    for n, t in init)
    quiet = "-Wno-c99-designator -Wno-c++20-designator" if "clang++" == cc else ""
    gcc(f"{std} -fsyntax-only {' '.join(WARN)} {quiet} -", OURS, HEADERS + lines, cc)


@rows([(f"a tool of the standard's names compiles against {whose}, {cc}", whose, cc)
       for whose in ("pmix_ext.h", "libpmix") for cc in ("gcc", "clang", "g++")])
def standard_tool(whose, cc):
    include = OURS if whose == "pmix_ext.h" else theirs()
    with open(os.path.join(ROOT, "test", "progs", "pmix_std_tool.c")) as f:
        lang = "-x c++ -std=gnu++17" if cc == "g++" else "-x c -std=gnu11"
        gcc(f"{lang} {' '.join(WARN)} -c -o std.o -", include, f.read(), cc)


# The package leaves out a header that its examples share: locks and two records.
EXAMPLES_H = """
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#include <pmix_common.h>
typedef struct {
    pthread_mutex_t mutex; pthread_cond_t cond; volatile bool active; pmix_status_t status;
    int count; size_t evhandler_ref;
} mylock_t;
typedef struct { mylock_t lock; pmix_info_t *info; size_t ninfo; } myquery_data_t;
typedef struct { mylock_t lock; char *nspace; int exit_code; bool exit_code_given; } myrel_t;
#define EXAMPLES_HIDE_UNUSED_PARAMS(...)
""" + "".join(f"#define DEBUG_{what}(x) memset((x), 0, sizeof *(x))\n"
              for what in ("CONSTRUCT_LOCK", "DESTRUCT_LOCK", "WAIT_THREAD", "WAKEUP_THREAD",
                           "CONSTRUCT_MYQUERY", "DESTRUCT_MYQUERY", "CONSTRUCT_MYREL",
                           "DESTRUCT_MYREL"))


@test("each example of libpmix's package that compiles with its header does so with ours")
def examples():
    words, tried = theirs(), []
    folder = "/usr/share/doc/libpmix-dev/examples"
    if not os.path.isdir(folder):
        raise Skip("the package's examples are not installed")
    with open(os.path.join(tmp(), "examples.h"), "w") as f:
        f.write(EXAMPLES_H)
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".c") and n != "server.c"):
        how = ["gcc", "-w", "-Werror=implicit-function-declaration", "-fsyntax-only", "-I", tmp()]
        source = os.path.join(folder, name)
        if subprocess.run([*how, *words, source], stderr=subprocess.DEVNULL).returncode == 0:
            tried.append(name)
            run = subprocess.run([*how, *OURS, source], stderr=subprocess.PIPE, text=True)
            need(run.returncode == 0, name, run.stderr)
    need(len(tried) > 15, "examples compile with libpmix's header", tried)


@test("what the macros do, they do with libpmix as well: test_pmix_standard.c")
def same_behaviour():
    words = theirs()
    libs = subprocess.run(["pkg-config", "--libs", "pmix"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split()
    out = os.path.join(tmp(), "standard")
    gcc(f"-std=gnu17 -Wall -Wextra -DLIBPMIX -o {out} "
        + os.path.join(ROOT, "test", "unit", "test_pmix_standard.c"), [*words, *libs, "-lcmocka"],
        "")
    run = subprocess.run([out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         timeout=4 * LIMIT, env=dict(os.environ, TMPDIR=tmp(), CMOCKA_MESSAGE_OUTPUT="STDOUT"), errors="replace")
    need(run.returncode == 0 and "PASSED" in run.stdout, "with libpmix", run.stdout)


main()
