/* fuzz_query.c - pmix-query with anything for its argument.
 *
 * Input: the JSON of `queries`.
 *
 * Properties: there is one reply; its parts are whole frames, each with a JSON array; one that
 * succeeds has an entry for each key of each query, in their order, and no other. */
#include "test/fuzz/fuzz.h"

#include "test/unit/fake_ext.h"
#include "wire/utf8.h"

/* What is asked: keys by query, from JSON that was taken. */
struct wanted { json_t *queries; size_t query, key; };

static json_t *keys_of(const struct wanted *w, size_t query)
{
    return json_object_get(json_array_get(w->queries, query), "keys");
}

/* The next key; false: there is none. */
static bool next_key(struct wanted *w)
{
    while (w->query < json_array_size(w->queries)) {
        if (w->key < json_array_size(keys_of(w, w->query)))
            return true;
        w->query++;
        w->key = 0;
    }
    return false;
}

static void check_entries(struct wanted *w, json_t *entries)
{
    json_t *e, *key;
    size_t i;

    MUST(json_is_array(entries));
    json_array_foreach(entries, i, e) {
        MUST(next_key(w));
        key = json_array_get(keys_of(w, w->query), w->key);
        MUST((size_t)json_integer_value(json_object_get(e, "query")) == w->query);
        MUST(json_equal(json_object_get(e, "key"), key));
        MUST(json_object_get(e, "value") || json_integer_value(json_object_get(e, "status")) < 0);
        if (!json_is_true(json_object_get(e, "more")))
            w->key++;
    }
}

/* One frame; true: it is the last. */
static bool check_frame(struct wanted *w, char *text)
{
    json_t *entries;
    struct err e = { 0 };
    const char *rc;
    struct msg m;
    bool more;

    msg_init(&m);
    MUST(wire_v2.parse(&m, text, strlen(text), &e) == 0);
    MUST(!strcmp(m.cmd, "pmix-query-response") && !strcmp(msg_get(&m, "thrid"), "2"));
    rc = msg_get(&m, "rc");
    more = msg_get(&m, "more");
    if (strcmp(rc, "0")) {
        MUST(!more && msg_get(&m, "errmsg") && atoi(msg_get(&m, "status")) < 0);
    } else {
        entries = json_loads(msg_get(&m, "results"), 0, NULL);
        check_entries(w, entries);
        json_decref(entries);
        MUST(more || !next_key(w));
    }
    msg_clear(&m);
    return !more;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wanted w = { .query = 0 };
    struct host *h;
    struct buf b = BUF_INIT;
    char *text;
    bool last = false;

    if (size > 16384 || memchr(data, '\0', size) || !utf8_valid((const char *)data, size))
        return 0;
    h = start(10, 2, 5, 2);
    w.queries = json_loadb((const char *)data, size, 0, NULL);
    buf_str(&b, "cmd=pmix-query;thrid=2;queries=");
    for (size_t i = 0; i < size; i++) {
        buf_char(&b, (char)data[i]);
        if (data[i] == ';')
            buf_char(&b, ';');
    }
    buf_char(&b, ';');
    say(h, buf_bytes(&b), true);
    while ((text = frame(h)) || turn(h)) {
        MUST(!text || !last);
        last = text ? check_frame(&w, text) : last;
        free(text);
    }
    MUST(last);
    buf_clear(&b);
    json_decref(w.queries);
    stop(h);
    return 0;
}
