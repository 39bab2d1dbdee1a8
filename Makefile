# make          build everything            make demo     install what is missing, build, run
#                                                         a real job
# make check    install what the tests need, run all tests (check-long: the longer ones)
# make deps     what the build needs        make install  PREFIX=/usr/local DESTDIR=
# make asan     check under ASan and UBSan  make fuzz     each fuzzer for SECS=60 seconds
# make cover    check with line coverage    make bench    figures beside a peer launcher
# make layers   who includes whom           make torture, make differential: see README
# make dist     a source archive
V       ?= 0
Q        = $(if $(filter 1,$V),,@printf '  %s  %s\n' $1 $@;)
B       ?= build
ifeq ($(strip $(B)),)
override B := build
endif
PREFIX  ?= /usr/local
DESTDIR ?=
SYSCONFDIR ?= /etc
VERSION  = 0.1.0

CFLAGS  ?= -O2 -g
WARN     = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wvla -Wwrite-strings
HARDEN  ?= -D_FORTIFY_SOURCE=2 -fstack-protector-strong
LDHARDEN ?= -Wl,-z,relro,-z,now
CSTD     = -std=c17 -D_GNU_SOURCE -DVERSION='"$(VERSION)"' \
           -DSYSCONFDIR='"$(SYSCONFDIR)"' -I. $(WARN) $(HARDEN)

# Linked statically, so that a start loads libc and nothing else.
LIBS_WIRE = -l:libutf8proc.a
LIBS_SEAL = -l:libsodium.a -lpthread
LIBS_EV   = -l:libev.a -lm
LIBS_ELF  = -l:libelf.a -l:libz.a
LIBS_JSON = -l:libjansson.a
LIBS_SQL  = -lsqlite3
LIBS      = $(LIBS_EV) $(LIBS_ELF) $(LIBS_SEAL) $(LIBS_JSON) $(LIBS_WIRE)

LD_PROGRAM = $(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) $(LDHARDEN) $(filter %.o,$^)
# What only debuggers read goes into a file beside a program, where they look for it: all
# hosts of a job read the program itself at once, and some are sent it.
SPLIT      = @objcopy --only-keep-debug $@ $@.debug && chmod a-x $@.debug && \
             objcopy --strip-debug --add-gnu-debuglink=$@.debug $@ $@.new && mv -f $@.new $@
LD_TEST    = $(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) $^

src  = $(filter-out %main.c,$(wildcard $1/*.c))
obj  = $(patsubst %.c,$B/%.o,$(call src,$1))

client     = $(wildcard pmi2/client*.c pmi2/lib_pmi2.c)
client_src = $(filter-out wire/seal.c wire/nearest.c wire/wrap.c,$(call src,wire)) \
             pmi2/kvs.c $(client)
client_pic = $(client_src:%.c=$B/pic/%.o)

ext_lib  = $(wildcard pmix_ext/lib_*.c)
ext_src  = $(ext_lib) $(wildcard pmix_ext/util_*.c pmix_ext/value*.c) $(addprefix pmix_ext/, \
             base64.c env_text.c find.c find_far.c hold_text.c json_reader.c names.c rendezvous.c rundir.c start.c \
             types.c unsupported.c words.c) pmi2/mapping.c \
           $(filter-out pmi2/lib_pmi2.c,$(client_src))
ext_pic  = $(ext_src:%.c=$B/pic/%.o)
tool_src = $(wildcard pmix_ext/tool_*.c)

core     = $(call obj,wire) $(filter-out $(client:%.c=$B/%.o),$(call obj,pmi2)) \
           $(filter-out $(ext_lib:%.c=$B/%.o) $(tool_src:%.c=$B/%.o),$(call obj,pmix_ext))
resident = $(patsubst %.c,$B/%.o,$(wildcard mpiexec_lite/registry*.c mpiexec_lite/resident*.c))
launcher = $(filter-out $(resident),$(call obj,mpiexec_lite))
everything = $(call obj,wire) $(call obj,pmi2) $(launcher) \
             $(filter-out $(tool_src:%.c=$B/%.o),$(call obj,pmix_ext))

unit     = $(patsubst %.c,$B/%,$(wildcard test/unit/test_*.c))

.PHONY: all check check-only check-long check-long-only demo deps demo-deps test-deps asan fuzz \
        fuzz-build bench cover layers install install-libpmi2 dist clean torture differential sim \
        soak check-mpi check-slurm slurm-deps
.SECONDARY:
.DELETE_ON_ERROR:

all: $B/bin/mpiexec_lite $B/bin/pmi2_proxy $B/bin/pmi2_server $B/lib/libpmi2.so.0 \
     $B/lib/libpmi2.a $B/lib/libpmix_ext.so.0 $B/lib/libpmix_ext.a \
     $B/man/mpiexec_lite.1 $B/man/pmix_ext-protocol.7 $B/completion/mpiexec_lite \
     $B/bin/pmix_tool $B/completion/pmix_tool

# --- programs, libraries, manual ---------------------------------------------

$B/bin/mpiexec_lite: $B/mpiexec_lite/main.o
$B/bin/pmi2_proxy: $B/mpiexec_lite/proxy_main.o
$B/bin/mpiexec_lite $B/bin/pmi2_proxy: $(core) $(launcher) | $B/bin/.
	$(LD_PROGRAM) $(LIBS) -o $@
	$(SPLIT)
# What debuggers look for by name stays when the program is stripped; PIE=no: for those that
# take addresses as the file has them.
$B/bin/mpiexec_lite: LDHARDEN += -Wl,--dynamic-list=mpiexec_lite/mpir.list $(if $(filter no,$(PIE)),-no-pie)
$B/bin/mpiexec_lite: mpiexec_lite/mpir.list

# Of the launcher it has what takes calls of other hosts, and of tools.
calls = address bridge conn dialog gate handshake login login_line login_payload munge_helper \
        munger now sealed tools
$B/bin/pmi2_server: $B/mpiexec_lite/server_main.o $(core) $(resident) \
                    $(calls:%=$B/mpiexec_lite/%.o) | $B/bin/.
	$(LD_PROGRAM) $(LIBS_SQL) $(LIBS) -o $@
	$(SPLIT)

$B/bin/pmix_tool: $(tool_src:%.c=$B/%.o) $(ext_src:%.c=$B/%.o) $B/wire/nearest.o \
                 $B/wire/wrap.o $B/pmix_ext/calltree.o | $B/bin/.
	$(LD_PROGRAM) -lpthread -ldl -lm $(LIBS_JSON) $(LIBS_WIRE) -o $@
	$(SPLIT)

$B/lib/libpmi2.so.0: $(client_pic) pmi2/libpmi2.map | $B/lib/.
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) $(LDHARDEN) -shared -Wl,-soname,libpmi2.so.0 \
	    -Wl,--version-script,pmi2/libpmi2.map $(client_pic) $(LIBS_WIRE) -ldl -o $@
	@ln -sf libpmi2.so.0 $B/lib/libpmi2.so
# One object whose only global names are the API's, so that a static program's own
# names never clash with ours.
$B/lib/libpmi2.a: $(client_pic) | $B/lib/.
	$(call Q,AR)rm -f $@ && $(CC) -r -nostdlib $(client_pic) $(LIBS_WIRE) -o $B/lib/libpmi2.o && \
	    objcopy -w -G 'PMI2_*' -G PMIX_Ring $B/lib/libpmi2.o && $(AR) rcs $@ $B/lib/libpmi2.o

# Its jansson is the shared one: the static one cannot be part of a shared library.
$B/lib/libpmix_ext.so.0: $(ext_pic) pmix_ext/libpmix_ext.map | $B/lib/.
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) $(LDHARDEN) -shared -Wl,-soname,libpmix_ext.so.0 \
	    -Wl,--version-script,pmix_ext/libpmix_ext.map $(ext_pic) -ljansson $(LIBS_WIRE) \
	    -ldl -lm -lpthread -o $@
	@ln -sf libpmix_ext.so.0 $B/lib/libpmix_ext.so
$B/lib/libpmix_ext.a: $(ext_pic) | $B/lib/.
	$(call Q,AR)rm -f $@ && $(CC) -r -nostdlib $(ext_pic) $(LIBS_WIRE) \
	    -o $B/lib/libpmix_ext.o && \
	    objcopy -w -G 'PMIx_*' -G pmix_ext_number $B/lib/libpmix_ext.o && \
	    $(AR) rcs $@ $B/lib/libpmix_ext.o

# The options and variables in the manual and the completion come from the program's own
# tables.
$B/man/mpiexec_lite.1: mpiexec_lite/mpiexec_lite.1.in $B/bin/mpiexec_lite | $B/man/.
	@$B/bin/mpiexec_lite --print-man >$B/man/options
	@$B/bin/mpiexec_lite --print-man-variables >$B/man/variables
	@$B/bin/mpiexec_lite --print-man-refused >$B/man/refused
	@sed -e '/^@OPTIONS@$$/{r $B/man/options' -e 'd;}' \
	    -e '/^@VARIABLES@$$/{r $B/man/variables' -e 'd;}' \
	    -e '/^@REFUSED@$$/{r $B/man/refused' -e 'd;}' -e 's/@VERSION@/$(VERSION)/' $< >$@
$B/man/pmix_ext-protocol.7: pmix_ext/PROTOCOL.md pmix_ext/protocol_man.awk | $B/man/.
	@awk -v version=$(VERSION) -f pmix_ext/protocol_man.awk $< >$@
$B/completion/mpiexec_lite: $B/bin/mpiexec_lite | $B/completion/.
	@$B/bin/mpiexec_lite --print-completion >$@
$B/completion/pmix_tool: $B/bin/pmix_tool | $B/completion/.
	@$B/bin/pmix_tool --print-completion >$@

$B/pic/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call Q,CC)$(CC) $(CSTD) $(CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c $< -o $@
$B/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call Q,CC)$(CC) $(CSTD) $(CFLAGS) -MMD -MP -c $< -o $@
-include $(shell find $B -name '*.d' 2>/dev/null)
%/.: ; @mkdir -p $@

# --- packages ----------------------------------------------------------------
# What each is for: see README.  Only what is missing is installed, by apt.

BUILD_PACKAGES = libc6-dev libev-dev libutf8proc-dev libsodium-dev libxxhash-dev libelf-dev \
                 zlib1g-dev libdw-dev libsqlite3-dev libhwloc-dev libjansson-dev
DEMO_PACKAGES  = $(BUILD_PACKAGES) mpich libmpich-dev libpmi2-0-dev
TEST_PACKAGES  = $(DEMO_PACKAGES) python3 libcmocka-dev valgrind clang llvm openmpi-bin \
                 libopenmpi-dev gcovr pkg-config man-db groff procps iproute2 munge libmunge2 \
                 libhwloc15 faketime openssh-server openssh-client csh fish nftables locales \
                 libpmix-dev g++ strace gdb tmux xvfb xterm xdotool elfutils graphviz cmake \
                 python3-mpi4py

SLURM_PACKAGES = $(BUILD_PACKAGES) python3 libpmi2-0-dev munge libmunge2 slurmctld slurmd \
                 slurm-client iproute2 nftables csh fish openssh-server openssh-client procps

deps: ; @test/packages $(BUILD_PACKAGES)
demo-deps: ; @test/packages $(DEMO_PACKAGES)
test-deps: ; @test/packages $(TEST_PACKAGES)
slurm-deps: ; @test/packages $(SLURM_PACKAGES)

# --- tests -------------------------------------------------------------------

$B/test/unit/test_registry $B/test/unit/test_guest: $(resident)
$B/test/unit/test_registry $B/test/unit/test_guest: LIBS_MORE = $(LIBS_SQL)
$(unit): %: %.o $(everything)
	$(LD_TEST) -lcmocka -lpthread -ldl $(LIBS_MORE) $(LIBS) -o $@
# With a store of its own.
$B/test/fuzz/run_resident $B/fuzz_resident: \
    $(filter-out %/resident.o %_store.o %_ask.o %_far.o %_tools.o,$(resident))
$B/test/fuzz/run_%: $B/test/fuzz/fuzz_%.o $B/test/fuzz/main.o $(everything)
	$(LD_TEST) -lpthread $(LIBS) -o $@
$B/test/replay: $B/test/replay.o $(everything)
	$(LD_TEST) -lpthread $(LIBS) -o $@

$B/test/bench/layer: $B/test/bench/layer.o $(core)
	$(LD_TEST) $(LIBS_SEAL) $(LIBS_JSON) $(LIBS_WIRE) -lm -o $@

# The simulator: the real core and the launcher's decisions, in one process.
sim_src  = $(filter-out pmi2/client%.c pmi2/lib_%.c pmix_ext/lib_%.c $(tool_src), \
             $(wildcard wire/*.c pmi2/*.c pmix_ext/*.c)) \
           $(patsubst %,mpiexec_lite/%.c,launch lease tree flow starting spawned spawned_map \
             spawned_info hold soft rankmap spawn_env cpus mapspec bundle setup place plan env \
             launchers hosts hosts_text opts_file) \
           $(wildcard test/sim/*.c)
$B/test/sim/sim: $(patsubst %.c,$B/%.o,$(sim_src))
	$(LD_TEST) $(LIBS_SEAL) $(LIBS_JSON) $(LIBS_WIRE) -lm -o $@

fuzzers  = $(patsubst test/fuzz/fuzz_%.c,%,$(wildcard test/fuzz/fuzz_*.c))
fuzzruns = $(fuzzers:%=$B/test/fuzz/run_%)
systests = $(filter-out %/lib.py %/rawpmi.py %/spawnlib.py %/pmixlib.py %/hooklib.py %/mpir_gdb.py %/mpirlib.py,$(wildcard test/sys/*.py))

CHECKS   = test/torture/quick test/differential/quick test/sim/quick test/requirements

export B
check: test-deps
	@$(MAKE) --no-print-directory check-only
# The same without looking at packages.
check-only: all layers $(unit) $(fuzzruns) $B/test/replay $B/test/sim/sim
	@test/run --slowest $(unit) $B/test/replay $(fuzzruns) $(systests) $(CHECKS)
# What takes longer: each fuzzer for a while, the whole torture.
check-long: test-deps
	@$(MAKE) --no-print-directory check-long-only
check-long-only: all $B/test/sim/sim
	@$(MAKE) --no-print-directory fuzz SECS=20
	@test/run --timeout 900 test/torture/run test/differential/run test/sim/planted \
	    test/long/minute.py test/long/spawns.py test/long/tools.py test/long/held.py

# A real Slurm, of four nodes on this machine.
check-slurm: slurm-deps
	@$(MAKE) --no-print-directory all
	@test/run --timeout 240 test/slurm/run

# make sim SEEDS=1..1000000 RANKS= NODES=: random schedules with faults; 0 violations is right.
SEEDS ?= 1..100000
sim: $B/test/sim/sim
	@$< --seeds $(SEEDS) --jobs $$(nproc) $(RANKS:%=--ranks %) $(NODES:%=--nodes %)
# make check-mpi MPICC=mpicc MPIRUN_ENV="A=b" HOSTS=: does this MPI spawn, publish and connect here?
MPICC ?= mpicc
check-mpi: all
	@B=$B MPICC="$(MPICC)" MPIRUN_ENV="$(MPIRUN_ENV)" HOSTS="$(HOSTS)" test/mpi/run
# make soak MINUTES=30: jobs back to back over eight hosts, and a fault every few seconds.
MINUTES ?= 30
soak: all
	@test/soak --minutes $(MINUTES)

# Includes point only towards wire/, and only these files include the event loop.
LOOP_FILES = conn.h dialog.h errand.h fatal.c feed.h front.c glance.c handshake.h hook_run.h link.h \
             listen.h munger.c sealed.h sink.h stacker.c tool_dial.c tool_stream.h topology.h
loop_free  = $(filter-out $(LOOP_FILES:%=mpiexec_lite/%),$(wildcard mpiexec_lite/*.[ch]))
layers:
	@bad=0; look() { if grep -nE "$$1" $$2; then bad=1; fi; }; \
	look '#include "(pmi2|pmix_ext|mpiexec_lite)/' "wire/*.[ch]"; \
	look '#include "(pmix_ext|mpiexec_lite)/' "pmi2/*.[ch]"; \
	look '#include "mpiexec_lite/' "pmix_ext/*.[ch]"; \
	look '#include <(ev|munge|hwloc)' "wire/*.[ch] pmi2/*.[ch] pmix_ext/*.[ch]"; \
	look '#include <ev.h>|(^|[^.>_a-z])(fork|execve|recv|send|read|write|poll)\(' \
	    "wire/*.[ch] $(filter-out pmi2/client% pmi2/lib_%,$(wildcard pmi2/*.c))"; \
	look '#include <ev.h>' "$(loop_free)"; \
	[ $$bad = 0 ] || { echo "layers: an include points the wrong way (above)"; exit 1; }

SAN = -fsanitize=address,undefined -fno-sanitize-recover=all
asan: test-deps
	@ASAN_OPTIONS=disable_coredump=0 $(MAKE) --no-print-directory B=build/asan HARDEN= \
	    CFLAGS='-O1 -g -fno-omit-frame-pointer -DAT_EXIT $(SAN)' check-only

SECS ?= 60
FUZZ_FLAGS = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link
$B/fuzz_%: $B/test/fuzz/fuzz_%.o $(everything)
	$(LD_TEST) -fsanitize=fuzzer -lpthread $(LIBS) -o $@
fuzz-build: $(fuzzers:%=$B/fuzz_%)
# T=frame: only that one.  As many at a time as there are processors.
fuzz:
	@$(MAKE) --no-print-directory CC=clang B=build/fuzz CFLAGS='$(FUZZ_FLAGS)' HARDEN= fuzz-build
	@printf '%s\n' $(or $T,$(fuzzers)) | xargs -P $$(nproc) -I@ sh -c ' \
	    mkdir -p build/fuzz/corpus/@; echo "fuzzing @ for $(SECS) s"; \
	    build/fuzz/fuzz_@ -max_total_time=$(SECS) -print_final_stats=1 -timeout=10 \
	        -artifact_prefix=build/fuzz/found- build/fuzz/corpus/@ test/corpus/@ \
	        >build/fuzz/@.log 2>&1 || { tail -40 build/fuzz/@.log; exit 255; }; \
	    echo @: $$(grep -h -E "number_of_executed_units|peak_rss" build/fuzz/@.log)'

cover: test-deps
	@find build/cover -name '*.gcda' -delete 2>/dev/null || true
	@$(MAKE) --no-print-directory B=build/cover HARDEN= CHECKS=test/differential/quick \
	    CFLAGS='-O0 -g -DAT_EXIT --coverage -fprofile-update=atomic' check-only
	@gcovr -r . --object-directory build/cover -f 'wire/.*' -f 'pmi2/.*' -f 'pmix_ext/.*' \
	    -f 'mpiexec_lite/.*' -s

bench: all $B/test/sim/sim $B/test/bench/layer
	@test/bench/run $B
	@test/bench/ssh $B
	@test/bench/layer_run $B
	@test/bench/tools $B
	@test/bench/tool_ends $B
	@$B/test/sim/sim --table
torture: all ; @test/torture/run
differential: all ; @test/differential/run

# --- demo, installation, archive ---------------------------------------------

demo: demo-deps
	@$(MAKE) --no-print-directory all
	@test/demo $B

BINDIR  = $(PREFIX)/bin
LIBDIR  = $(PREFIX)/lib/mpiexec_lite
PCDIR   = $(PREFIX)/lib/pkgconfig
INCDIR  = $(PREFIX)/include/mpiexec_lite
MANDIR  = $(PREFIX)/share/man
COMPDIR = $(PREFIX)/share/bash-completion/completions
DOCDIR  = $(PREFIX)/share/doc/mpiexec_lite
UNITDIR = $(PREFIX)/lib/systemd
D       = $(DESTDIR)
install: all
	install -d $D$(BINDIR) $D$(LIBDIR) $D$(PCDIR) $D$(INCDIR)/std $D$(MANDIR)/man1 $D$(MANDIR)/man3 $D$(MANDIR)/man7 \
	    $D$(COMPDIR) $D$(DOCDIR)/examples $D$(UNITDIR)/system $D$(UNITDIR)/user
	install -m 755 $B/bin/mpiexec_lite $B/bin/pmi2_proxy $B/bin/pmi2_server $B/bin/pmix_tool \
	    $D$(BINDIR)
	install -m 755 $B/lib/libpmi2.so.0 $D$(LIBDIR)
	ln -sf libpmi2.so.0 $D$(LIBDIR)/libpmi2.so
	install -m 755 $B/lib/libpmix_ext.so.0 $D$(LIBDIR)
	ln -sf libpmix_ext.so.0 $D$(LIBDIR)/libpmix_ext.so
	install -m 644 $B/lib/libpmi2.a $B/lib/libpmix_ext.a $D$(LIBDIR)
	install -m 644 pmi2/pmi2.h mpiexec_lite/mpiexec_lite_provider.h $(wildcard pmix_ext/pmix_ext*.h) $D$(INCDIR)
	install -m 644 $(wildcard pmix_ext/std/*.h) $D$(INCDIR)/std
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
	    pmi2/pmi2.pc.in >$D$(PCDIR)/mpiexec_lite-pmi2.pc
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
	    pmix_ext/pmix_ext.pc.in >$D$(PCDIR)/mpiexec_lite-pmix.pc
	install -m 644 $B/man/mpiexec_lite.1 mpiexec_lite/pmi2_proxy.1 mpiexec_lite/pmi2_server.1 \
	    pmix_ext/pmix_tool.1 $D$(MANDIR)/man1
	install -m 644 pmi2/libpmi2.3 pmix_ext/libpmix_ext.3 $D$(MANDIR)/man3
	sed 's|/etc/mpiexec_lite|$(SYSCONFDIR)/mpiexec_lite|' mpiexec_lite/mpiexec_lite-providers.7 \
	    >$D$(MANDIR)/man7/mpiexec_lite-providers.7
	install -m 644 $B/man/pmix_ext-protocol.7 $D$(MANDIR)/man7
	install -m 644 $B/completion/mpiexec_lite $B/completion/pmix_tool $D$(COMPDIR)
	for u in system user; do sed 's|@BINDIR@|$(BINDIR)|' mpiexec_lite/pmi2_server.$$u.service \
	    >$D$(UNITDIR)/$$u/pmi2_server.service || exit 1; done
	install -m 644 README COPYING wire/FORMAT pmi2/PEERS pmix_ext/PROTOCOL.md $D$(DOCDIR)
	install -m 755 pmix_ext/examples/ask.py mpiexec_lite/examples/token.py $D$(DOCDIR)/examples
	install -m 644 mpiexec_lite/examples/netdev.c pmix_ext/examples/rfc0010.c \
	    $(patsubst %,pmix_ext/examples/%.c,launcher daemon debugger sampler) $D$(DOCDIR)/examples
# Put libpmi2 on the default path, where it takes the place of Slurm's.
install-libpmi2: install
	ln -sf mpiexec_lite/libpmi2.so.0 $D$(PREFIX)/lib/libpmi2.so.0
	ln -sf libpmi2.so.0 $D$(PREFIX)/lib/libpmi2.so
	ln -sf mpiexec_lite/libpmi2.a $D$(PREFIX)/lib/libpmi2.a
	ln -sf mpiexec_lite/pmi2.h $D$(PREFIX)/include/pmi2.h

dist:
	@mkdir -p build
	git archive --prefix=mpiexec_lite-$(VERSION)/ HEAD | gzip -9n >build/mpiexec_lite-$(VERSION).tar.gz
	@echo build/mpiexec_lite-$(VERSION).tar.gz

clean: ; rm -rf $B
