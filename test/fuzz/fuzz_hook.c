/* fuzz_hook.c - whatever a set-up provider answers: it is refused with a reason, or what it
 * says travels and arrives as the same, and no variable of ours is changed by it. */
#include "test/fuzz/fuzz.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/hook_text.h"

#include <string.h>

static void there_and_back(const struct setup *s)
{
    struct buf once = BUF_INIT, twice = BUF_INIT;
    struct setup back = { 0 };
    struct err e;

    if (setup_write(s, &once, &e) == 0) {
        MUST(setup_read(&back, buf_bytes(&once), &e) == 0);
        MUST(setup_write(&back, &twice, &e) == 0);
        MUST(once.len == twice.len && !memcmp(buf_bytes(&once), buf_bytes(&twice), once.len));
    }
    setup_clear(&back);
    buf_clear(&once);
    buf_clear(&twice);
}

static void change(const struct setup *s)
{
    struct strlist env = { 0 }, own = { 0 };
    const struct strlist *owns[] = { &own };
    struct err e;
    int kept = 0;

    MUST(strlist_add(&env, "PMI_RANK=3") == 0 && strlist_add(&env, "A=a:b") == 0 &&
         strlist_add(&own, "A=mine") == 0);
    MUST(setup_change_env(s, owns, 1, &env, &e) == 0);
    for (size_t i = 0; i < env.n; i++) {
        MUST(env_name_len(env.v[i]) && env.v[i][env_name_len(env.v[i])] == '=');
        if (env_is_ours(env.v[i], env_name_len(env.v[i])))
            MUST(!strcmp(env.v[i], "PMI_RANK=3"));
        kept += !strcmp(env.v[i], "PMI_RANK=3");
        if (s->infos.n && !strncmp(env.v[i], "A=", 2))
            MUST(!strcmp(env.v[i], "A=mine"));
    }
    MUST(kept == 1);
    strlist_clear(&env);
    strlist_clear(&own);
}

static void take(const struct hook_answer *a, bool only_env)
{
    struct setup s = { 0 };
    struct err e = { 0 };

    if (setup_add(&s, "p", a->infos, a->len, only_env, NULL, &e) == 0) {
        there_and_back(&s);
        change(&s);
    } else {
        MUST(e.code != ERR_NONE && *e.text);
    }
    setup_clear(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum hook to = size ? (enum hook)(data[0] % HOOKS) : HOOK_DESCRIBE;
    struct hook_answer a;
    struct err e = { 0 };

    if (!size)
        return 0;
    if (hook_read(&a, to, (const char *)data + 1, size - 1, &e) == 0) {
        MUST(a.timeout > 0 && a.timeout <= HOOK_TIMEOUT_MAX);
        MUST(!a.infos || to == HOOK_APPLICATION || to == HOOK_CHILD);
        if (a.infos)
            take(&a, to == HOOK_CHILD);
    } else {
        MUST(e.code != ERR_NONE && *e.text);
    }
    hook_answer_clear(&a);
    return 0;
}
