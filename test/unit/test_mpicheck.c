/* test_mpicheck.c - mpiexec_lite/mpicheck: which library a program needs, from ELF
 * files made here, and from what is no ELF file at all. */
#include "mpiexec_lite/mpicheck.h"

#include <fcntl.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

static char name[] = "/tmp/test_mpicheck.XXXXXX";

static Elf_Scn *add_section(Elf *elf, Elf64_Word type, Elf64_Word link, void *data, size_t len,
                            size_t entry)
{
    Elf_Scn *scn = elf_newscn(elf);
    Elf_Data *d = elf_newdata(scn);
    Elf64_Shdr *head = elf64_getshdr(scn);

    d->d_align = 8;
    d->d_buf = data;
    d->d_size = len;
    d->d_type = type == SHT_DYNAMIC ? ELF_T_DYN : ELF_T_BYTE;
    d->d_version = EV_CURRENT;
    head->sh_type = type;
    head->sh_link = link;
    head->sh_entsize = entry;
    return scn;
}

/* An ELF file that needs two libraries. */
static void make(const char *first, const char *second)
{
    char strings[200] = "\0";
    Elf64_Dyn dyn[4] = { { DT_NEEDED, { 1 } }, { DT_NEEDED, { 2 + strlen(first) } },
                         { DT_FLAGS, { 0 } }, { DT_NULL, { 0 } } };
    size_t len = 3 + strlen(first) + strlen(second);
    int fd = open(name, O_RDWR | O_TRUNC | O_CLOEXEC);
    Elf64_Ehdr *head;
    Elf *elf;

    assert_true(fd >= 0);
    strcpy(strings + 1, first);
    strcpy(strings + 2 + strlen(first), second);
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_WRITE, NULL);
    assert_non_null(elf);
    head = elf64_newehdr(elf);
    head->e_ident[EI_DATA] = ELFDATA2LSB;
    head->e_machine = EM_X86_64;
    head->e_type = ET_DYN;
    head->e_version = EV_CURRENT;
    add_section(elf, SHT_STRTAB, 0, strings, len, 0);
    add_section(elf, SHT_DYNAMIC, 1, dyn, sizeof dyn, sizeof *dyn);
    assert_true(elf_update(elf, ELF_C_WRITE) > 0);
    elf_end(elf);
    close(fd);
}

static const struct { const char *first, *second, *library; } cases[] = {
    { "libc.so.6", "libm.so.6", NULL },
    { "libmpich.so.12", "libc.so.6", "libmpich.so.12" },
    { "libc.so.6", "libmpi.so.40", "libmpi.so.40" },
    { "libmpi_mpifh.so.40", "libmpi.so.40", "libmpi_mpifh.so.40" },
    { "libmpichfort.so.12", "libc.so.6", "libmpichfort.so.12" },
    { "libmpiwrapper.so", "libxmpi.so.1", NULL },
};

static void test_elf(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        char found[100] = "";

        print_message("  %s, %s\n", cases[i].first, cases[i].second);
        make(cases[i].first, cases[i].second);
        assert_int_equal(mpicheck_library(name, found, sizeof found), cases[i].library != NULL);
        assert_string_equal(found, cases[i].library ? cases[i].library : "");
    }
    make("libmpich.so.12", "libc.so.6");
    assert_true(mpicheck_library(name, (char[4]){ 0 }, 4));
}

/* Every prefix and every changed byte of such a file: no harm. */
static void test_damaged(void **state)
{
    static unsigned char whole[4096];
    char found[100];
    ssize_t n;
    int fd;

    (void)state;
    make("libmpich.so.12", "libc.so.6");
    fd = open(name, O_RDONLY | O_CLOEXEC);
    n = read(fd, whole, sizeof whole);
    close(fd);
    assert_true(n > 64);
    for (ssize_t i = 0; i < n; i++) {
        unsigned char bad = (unsigned char)(whole[i] ^ 0xff), good = whole[i];

        fd = open(name, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(write(fd, whole, (size_t)i), i);
        mpicheck_library(name, found, sizeof found);
        whole[i] = bad;
        assert_int_equal(pwrite(fd, whole, (size_t)n, 0), n);
        whole[i] = good;
        close(fd);
        mpicheck_library(name, found, sizeof found);
    }
}

static void test_no_elf(void **state)
{
    char found[100] = "";

    (void)state;
    assert_false(mpicheck_library("/nonexistent/program", found, sizeof found));
    assert_false(mpicheck_library("/etc/passwd", found, sizeof found));
    assert_false(mpicheck_library("/tmp", found, sizeof found));
    assert_false(mpicheck_library("/dev/null", found, sizeof found));
    assert_false(mpicheck_library("/bin/sh", found, sizeof found));
    assert_string_equal(found, "");
}

/* %: the name of the file */
static const struct { const char *name, *text, *dir; bool found; } texts[] = {
    { "alone", "%", NULL, true },
    { "in a script", "#!/bin/sh\nif true; then\n  exec \"%\" \"$@\"\nfi\n", NULL, true },
    { "behind a variable", "A=1 %", NULL, true },
    { "as a value", "X=%", NULL, true },
    { "relative to the directory", "./*", "/tmp", true },
    { "relative to another one", "./*", "/usr", false },
    { "in PATH", "run *", NULL, true },
    { "another name", "%x x% /tmp /etc/passwd true", NULL, false },
    { "behind very many words", NULL, NULL, false },
    { "nothing", "", NULL, false },
    { "signs only", "#!;&|<>()", NULL, false },
};

/* The text with the file's name in it, or with the last part of that for '*'. */
static void fill(char *out, const char *text)
{
    for (*out = '\0'; *text; text++)
        sprintf(out + strlen(out), *text == '%' || *text == '*' ? "%s" : "%.1s",
                *text == '%' ? name : *text == '*' ? strrchr(name, '/') + 1 : text);
}

static void test_named(void **state)
{
    char text[20000], program[100], found[100];

    (void)state;
    make("libc.so.6", "libmpi.so.40");
    assert_int_equal(chmod(name, 0700), 0);
    for (size_t i = 0; i < N_OF(texts); i++) {
        print_message("  %s\n", texts[i].name);
        *text = '\0';
        for (int k = 0; !texts[i].text && k < 1000; k++)
            strcat(text, "/no ");
        if (!texts[i].text)
            strcat(text, name);
        else
            fill(text, texts[i].text);
        assert_int_equal(mpicheck_named(text, texts[i].dir, "/usr/bin:/tmp", program,
                                        sizeof program, found, sizeof found), texts[i].found);
        if (texts[i].found)
            assert_string_equal(found, "libmpi.so.40");
        if (texts[i].found)
            assert_non_null(strstr(program, strrchr(name, '/') + 1));
    }
    assert_false(mpicheck_script(name, NULL, "/tmp", program, sizeof program, found, sizeof found));
    assert_false(mpicheck_script("/no", NULL, "/", program, sizeof program, found, sizeof found));
}

/* %: a file that has the word; *: its last part. */
static const struct { const char *name, *text, *dir, *where; } pythons[] = {
    { "a script",                "/usr/bin/python3\n%", NULL, "%" },
    { "after options",           "python3.11 -u -X dev *", "/tmp", "*" },
    { "in another directory",    "python3 *", "/usr", NULL },
    { "-c",                      "python3\n-c\nfrom mpi4py import MPI", NULL, "mpi4py" },
    { "-m",                      "python3 -m mpi4py.futures x.py", NULL, "mpi4py.futures" },
    { "behind a shell",          "/bin/sh\n-c\nA=1 exec python3 '%' | cat", NULL, "%" },
    { "no Python",               "/bin/cat\n%", NULL, NULL },
    { "no Python: a file of it", "/bin/sh\n-c\nls xpython3 mpi4py", NULL, NULL },
    { "Python behind it",        "ls mpi4py python3", NULL, NULL },
    { "another word",            "python3 -m mpi4pyx.a xmpi4py mpi4p", NULL, NULL },
    { "no file, a folder, a device", "python3 /no/such /tmp /dev/zero /dev/null", NULL, NULL },
    { "a file without it",       "python3 /etc/passwd", NULL, NULL },
    { "nothing",                 "", NULL, NULL },
};

static void put_file(const char *text)
{
    int fd = open(name, O_RDWR | O_TRUNC | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void test_python(void **state)
{
    char text[300], want[100], where[100];

    (void)state;
    put_file("import sys\nfrom mpi4py import MPI\n");
    for (size_t i = 0; i < N_OF(pythons); i++) {
        print_message("  %s\n", pythons[i].name);
        fill(text, pythons[i].text);
        assert_int_equal(mpicheck_python(text, NULL, pythons[i].dir, where, sizeof where),
                         pythons[i].where != NULL);
        if (!pythons[i].where)
            continue;
        fill(want, pythons[i].where);
        assert_string_equal(where, want);
    }
    assert_false(mpicheck_python(NULL, name, NULL, where, sizeof where));
    put_file("#!/usr/bin/env python3\nfrom mpi4py import MPI\n");
    assert_true(mpicheck_python(NULL, name, NULL, where, sizeof where));
    assert_string_equal(where, "mpi4py");
    assert_false(mpicheck_python(NULL, "/no", NULL, where, sizeof where));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elf), cmocka_unit_test(test_damaged), cmocka_unit_test(test_no_elf),
        cmocka_unit_test(test_named), cmocka_unit_test(test_python),
    };
    int fd = mkstemp(name), rc;

    if (fd < 0)
        return 1;
    close(fd);
    rc = cmocka_run_group_tests_name("mpicheck", tests, NULL, NULL);
    unlink(name);
    return rc;
}
