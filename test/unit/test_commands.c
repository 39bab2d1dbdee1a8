/* test_commands.c - pmi2/commands: what holds for every row of the table. */
#include "test/unit/fake_host.h"

#include "pmi2/core.h"
#include "pmix_ext/commands.h"

static const char *const arg_type[] = { "text", "bytes", "int", "bool" };

/* Shapes that the code relies on. */
static void test_shape(void **state)
{
    (void)state;
    for (size_t i = 0; i < pmi_command_count; i++) {
        const struct command *c = &pmi_commands[i];
        int args = 0, fields = 0;

        print_message("  %s\n", c->name[0] ? c->name[0] : c->name[1]);
        assert_true(c->name[0] || c->name[1]);
        assert_non_null(c->run);
        assert_true(c->when && !(c->when & ~IN_ANY));
        for (int w = 0; w < WIRES; w++)
            assert_int_equal(!c->name[w], !c->reply[w]);
        for (; c->args && (*c->args[args].name[0] || *c->args[args].name[1]); args++) {
            const struct arg *a = &c->args[args];

            assert_true(a->min <= a->max || a->type == ARG_BOOL);
            assert_true(a->type <= ARG_BOOL && arg_type[a->type]);
        }
        for (; c->fields && (*c->fields[fields].name[0][0] || *c->fields[fields].name[1][0]);)
            fields++;
        assert_true(args <= ARGS_MAX);
        assert_true(fields <= FIELDS_MAX);
        for (size_t k = 0; k < i; k++)
            for (int w = 0; w < WIRES; w++)
                if (c->name[w] && pmi_commands[k].name[w])
                    assert_string_not_equal(c->name[w], pmi_commands[k].name[w]);
    }
}

/* Whether the text in an array has its end in it: one that fills it is an initializer as
 * good as any, and runs on into what follows. */
static void check_end(const char *text, size_t size)
{
    if (strnlen(text, size) == size)
        fail_msg("'%.*s' fills its %zu bytes", (int)size, text, size);
}

static void check_ends(const struct command *c)
{
    for (const struct arg *a = c->args; a && (*a->name[0] || *a->name[1]); a++)
        for (int w = 0; w < WIRES; w++) {
            check_end(a->name[w], ROW_NAME);
            check_end(a->also[w], ROW_NAME);
        }
    for (const struct field *f = c->fields; f && (*f->name[0][0] || *f->name[1][0]); f++) {
        for (int w = 0; w < WIRES; w++)
            for (int k = 0; k < 2; k++)
                check_end(f->name[w][k], ROW_NAME);
        check_end(f->always, ROW_VALUE);
        check_end(f->failed, ROW_VALUE);
    }
}

/* In the rows of the extended commands too. */
static void test_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < pmi_command_count; i++)
        check_ends(&pmi_commands[i]);
    for (size_t i = 0; i < ext_command_count; i++)
        check_ends(&ext_commands[i]);
}

/* A message with every required argument but one, and bad for one. */
static void write_args(struct buf *out, const struct command *c, int w, int skip,
                       const char *bad)
{
    const char *between = w == WIRE_1 ? " " : "", *end = w == WIRE_1 ? "" : ";";

    buf_printf(out, "cmd=%s%s", c->name[w], end);
    for (int i = 0; c->args && (*c->args[i].name[0] || *c->args[i].name[1]); i++) {
        const struct arg *a = &c->args[i];
        const char *good = a->type == ARG_INT || a->type == ARG_BOOL ? "0" : "x";

        if (!*a->name[w] || (!(a->required & ON(w)) && i != skip) || (i == skip && !bad))
            continue;
        buf_printf(out, "%s%s=%s%s", between, a->name[w], i == skip ? bad : good, end);
    }
    if (w == WIRE_1)
        buf_char(out, '\n');
}

/* The state in which this command is refused for its arguments only. */
static void bring_to(struct fake *f, const struct command *c, int w)
{
    if (c->when & IN(CONN_READY))
        fake_step(f, w == WIRE_1 ? "0+1" : "0+2", SIZE_MAX);
    else if (c->when & IN(CONN_GREETED)) {
        fake_step(f, "0> cmd=init pmi_version=2 pmi_subversion=0\n", SIZE_MAX);
        buf_consume(&f->link[0].sent, f->link[0].sent.len);
    }
}

/* The reply names the command, fails, and names the argument. */
static void expect_refusal(const struct command *c, int w, int arg, const char *bad)
{
    struct fake *f = malloc(sizeof *f);
    struct buf text = BUF_INIT, want = BUF_INIT;
    const char *reply;

    assert_non_null(f);
    assert_true(fake_open(f, &(struct story){ .size = 2 }));
    bring_to(f, c, w);
    write_args(&text, c, w, arg, bad);
    print_message("    %s%s", buf_bytes(&text), w == WIRE_1 ? "" : "\n");
    buf_printf(&want, "0%c ", w == WIRE_1 ? '>' : '}');
    buf_add(&want, buf_bytes(&text), text.len);
    fake_step(f, buf_bytes(&want), SIZE_MAX);
    if (c->flags & NO_REPLY) {
        assert_int_equal(f->link[0].sent.len, 0);
    } else {
        assert_true(f->link[0].sent.len > 0);
        reply = buf_bytes(&f->link[0].sent);
        buf_reset(&want);
        buf_printf(&want, "cmd=%s%crc=", c->reply[w], w == WIRE_1 ? ' ' : ';');
        assert_non_null(strstr(reply, buf_bytes(&want)));
        assert_null(strstr(reply, "rc=0"));
        assert_non_null(strstr(reply, c->args[arg].name[w]));
        assert_false(f->link[0].failed);
    }
    buf_clear(&text);
    buf_clear(&want);
    fake_close(f);
    free(f);
}

static void test_arguments(void **state)
{
    char *longest = malloc(70000);

    (void)state;
    assert_non_null(longest);
    for (size_t k = 0; k < pmi_command_count; k++)
        for (int w = 0; w < WIRES; w++) {
            const struct command *c = &pmi_commands[k];

            for (int i = 0; c->name[w] && c->args && (*c->args[i].name[0] || *c->args[i].name[1]);
                 i++) {
                const struct arg *a = &c->args[i];

                if (!*a->name[w])
                    continue;
                if (a->required & ON(w))
                    expect_refusal(c, w, i, NULL);
                if (a->type == ARG_INT || a->type == ARG_BOOL)
                    expect_refusal(c, w, i, "1x");
                if (a->type == ARG_INT)
                    expect_refusal(c, w, i, "99999999999");
                if (a->type == ARG_TEXT)
                    expect_refusal(c, w, i, "a\xff");
                if (a->type == ARG_TEXT && a->max && a->max <= 1024) {
                    memset(longest, 'x', (size_t)a->max + 1);
                    longest[a->max + 1] = '\0';
                    expect_refusal(c, w, i, longest);
                }
            }
        }
    free(longest);
}

static const struct { const char *name; enum conn_state is; const char *steps[3]; } states[] = {
    { "new", CONN_NEW, { NULL } },
    { "greeted", CONN_GREETED, { "0> cmd=init pmi_version=2 pmi_subversion=0\n" } },
    { "ready, PMI-1", CONN_READY, { "0> cmd=init pmi_version=1 pmi_subversion=1\n" } },
    { "ready, PMI-2", CONN_READY, { "0> cmd=init pmi_version=2 pmi_subversion=0\n",
      "0} cmd=fullinit;" } },
    { "final, PMI-1", CONN_FINAL, { "0> cmd=init pmi_version=1 pmi_subversion=1\n",
      "0> cmd=finalize\n" } },
    { "final, PMI-2", CONN_FINAL, { "0> cmd=init pmi_version=2 pmi_subversion=0\n",
      "0} cmd=fullinit;", "0} cmd=finalize;" } },
};

/* In a state that the row does not name, a command is answered with rc=1 (INIT),
 * and the connection stays as it was. */
static void test_states(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_OF(states); s++)
        for (size_t k = 0; k < pmi_command_count; k++) {
            const struct command *c = &pmi_commands[k];
            struct fake *f = malloc(sizeof *f);
            struct buf text = BUF_INIT;
            bool refused;
            int w;

            assert_non_null(f);
            assert_true(fake_open(f, &(struct story){ .size = 2 }));
            for (int i = 0; i < 3 && states[s].steps[i]; i++)
                fake_step(f, states[s].steps[i], SIZE_MAX);
            fake_link(f, '0');
            buf_consume(&f->link[0].sent, f->link[0].sent.len);
            assert_int_equal(f->link[0].conn->state, states[s].is);
            w = f->link[0].conn->framer.wire;
            if (c->name[w] && !(c->when & IN(states[s].is))) {
                print_message("  %s: %s\n", states[s].name, c->name[w]);
                buf_str(&text, w == WIRE_1 ? "0> " : "0} ");
                write_args(&text, c, w, -1, NULL);
                fake_step(f, buf_bytes(&text), SIZE_MAX);
                refused = f->link[0].sent.len && strstr(buf_bytes(&f->link[0].sent), "rc=1");
                assert_true(refused);
                assert_int_equal(f->link[0].conn->state, states[s].is);
            }
            buf_clear(&text);
            fake_close(f);
            free(f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_states),
    };

    return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
