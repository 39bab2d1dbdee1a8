# make          build everything            make demo     install what is missing, build, run a real job
# make check    install what the tests need, run all tests (check-long: the longer ones)
# make deps     what the build needs        make install  PREFIX=/usr/local DESTDIR=
# make asan     check under ASan and UBSan  make fuzz     each fuzzer for SECS=60 seconds
# make cover    check with line coverage    make bench    figures beside a peer launcher
# make layers   who includes whom           make torture, make differential: see README
# make dist     a source archive
V       ?= 0
Q        = $(if $(filter 1,$V),,@printf '  %s  %s\n' $1 $@;)
B       ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
VERSION  = 0.1.0

CFLAGS  ?= -O2 -g
WARN     = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wvla -Wwrite-strings
HARDEN  ?= -D_FORTIFY_SOURCE=2 -fstack-protector-strong
LDHARDEN ?= -Wl,-z,relro,-z,now
CSTD     = -std=c17 -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -I. $(WARN) $(HARDEN)

# Linked statically, so that a start loads libc and nothing else.
LIBS_WIRE = -l:libutf8proc.a
LIBS_EV   = -l:libev.a -lm
LIBS_ELF  = -l:libelf.a -l:libz.a

src  = $(filter-out %/main.c,$(wildcard $1/*.c))
obj  = $(patsubst %.c,$B/%.o,$(call src,$1))
client_src = $(wildcard wire/*.c) $(wildcard pmi2/client*.c pmi2/lib_pmi2.c)
client_pic = $(patsubst %.c,$B/pic/%.o,$(client_src))
client_obj = $(patsubst %.c,$B/%.o,$(wildcard pmi2/client*.c pmi2/lib_pmi2.c))

core     = $(call obj,wire) $(filter-out $(client_obj),$(call obj,pmi2)) $(call obj,pmix_ext)
launcher = $(call obj,mpiexec_lite)
everything = $(call obj,wire) $(call obj,pmi2) $(call obj,pmix_ext) $(launcher)

unit     = $(patsubst %.c,$B/%,$(wildcard test/unit/test_*.c))

.PHONY: all check check-long demo deps test-deps asan fuzz bench cover layers install \
        install-libpmi2 dist clean torture differential
.SECONDARY:
.DELETE_ON_ERROR:

all: $B/bin/mpiexec_lite $B/lib/libpmi2.so.0 $B/lib/libpmi2.a

$B/bin/mpiexec_lite: $B/mpiexec_lite/main.o $(core) $(launcher) | $B/bin/.
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) $(LDHARDEN) $^ $(LIBS_EV) $(LIBS_ELF) $(LIBS_WIRE) -o $@

$B/lib/libpmi2.so.0: $(client_pic) pmi2/libpmi2.map | $B/lib/.
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) $(LDHARDEN) -shared -Wl,-soname,libpmi2.so.0 \
	    -Wl,--version-script,pmi2/libpmi2.map $(client_pic) $(LIBS_WIRE) -o $@
	@ln -sf libpmi2.so.0 $B/lib/libpmi2.so
$B/lib/libpmi2.a: $(client_pic) | $B/lib/.
	$(call Q,AR)rm -f $@ && $(AR) rcs $@ $^

$B/pic/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call Q,CC)$(CC) $(CSTD) $(CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c $< -o $@
$B/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call Q,CC)$(CC) $(CSTD) $(CFLAGS) -MMD -MP -c $< -o $@
-include $(shell find $B -name '*.d' 2>/dev/null)
%/.: ; @mkdir -p $@

$(unit): %: %.o $(everything)
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) $^ -lcmocka -lpthread $(LIBS_EV) $(LIBS_ELF) $(LIBS_WIRE) -o $@

clean: ; rm -rf $B
