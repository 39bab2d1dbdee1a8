/* value_answer.c - answers to queries, from the parts of a reply; see value.h. */
#include "pmix_ext/value_impl.h"

static bool is_array(const struct value_answer *a)
{
    return a->value.type == PMIX_DATA_ARRAY && a->value.data.darray;
}

/* An array is complete: it needs no more room. */
static void complete(struct value_answer *a)
{
    pmix_data_array_t *array = is_array(a) ? a->value.data.darray : NULL;

    if (array && a->room)
        array->array = grown(&(struct growing){ array->array, array->size, a->room,
                                                type_of(array->type)->size });
    a->room = 0;
}

/* The pieces are the text of a value: it is read as soon as the last is there. */
static int read_pieces(struct value_answer *a, struct in *in)
{
    int rc;

    if (a->more)
        return 0;
    rc = value_decode(PMIX_VALUE, a->piece, a->room, ".piece", &a->value, in->e);
    free(a->piece);
    a->piece = NULL;
    a->room = 0;
    return rc;
}

static int add_piece(struct value_answer *a, const char *more, struct in *in)
{
    size_t n = strlen(more);
    char *whole;

    if (n > VALUE_TEXT - a->room)
        return err_set(in->e, ERR_LENGTH, ".piece: more than %d bytes of JSON", VALUE_TEXT);
    whole = realloc(a->piece, a->room + n + 1);
    if (!whole)
        return value_no_memory(in);
    memcpy(whole + a->room, more, n + 1);
    a->piece = whole;
    a->room += n;
    return 0;
}

/* What has been read as `rest` went to the array of a, which it goes on with; or is the next
 * piece of it. */
static int go_on(struct value_answer *a, const struct value_answer *rest, struct in *in)
{
    bool fits = a->piece ? rest->piece && rest->value.type == PMIX_UNDEF
                         : is_array(rest) && !rest->piece;

    if (!fits || rest->query != a->query || strcmp(rest->key, a->key))
        return err_set(in->e, ERR_INVALID_VAL, ": not the rest of %s", a->key);
    a->status = rest->status;
    a->more = rest->more;
    if (!a->piece)
        return 0;
    return add_piece(a, rest->piece, in) < 0 ? -1 : read_pieces(a, in);
}

static int take_rest_of(struct value_answer *a, struct in *in)
{
    struct value_answer rest = { .query = 0 };
    int rc;

    in->answer = a->piece ? NULL : a;
    rc = take_value(&type_rows[TYPE_ANSWER], &rest, in);
    if (rc == 0)
        rc = go_on(a, &rest, in);
    type_clear(&type_rows[TYPE_ANSWER], &rest);
    return rc;
}

static int take_answer(struct value_answer *a, struct in *in)
{
    in->answer = a;
    if (take_value(&type_rows[TYPE_ANSWER], a, in) < 0)
        return -1;
    if (a->piece && a->value.type != PMIX_UNDEF)
        return err_set(in->e, ERR_INVALID_VAL, ".piece: and a value");
    a->room = a->piece ? strlen(a->piece) : a->room;
    if (a->piece)
        return read_pieces(a, in);
    if (a->more && !is_array(a))
        return err_set(in->e, ERR_INVALID_VAL, ".more: only arrays come in parts");
    return 0;
}

/* One more answer, or more of the last. */
static int take_next(struct growing *list, struct in *in)
{
    struct value_answer *last = list->n ? (void *)(list->at + (list->n - 1) * list->size) : NULL;
    int rc;

    if (reader_next(&in->r) < 0)
        return -1;
    if (last && last->more) {
        rc = take_rest_of(last, in);
    } else {
        last = grow(list);
        rc = last ? take_answer(last, in) : value_no_memory(in);
    }
    if (rc == 0 && !last->more)
        complete(last);
    return rc;
}

int value_decode_answers(const char *text, size_t len, const char *what,
                         struct value_answer **list, size_t *n, struct err *e)
{
    struct growing g = { (char *)*list, *n, *n, sizeof **list };
    size_t i = 0;
    struct in in;
    int more, rc;

    if (in_begin(&in, text, len, what, e) < 0)
        return -1;
    rc = reader_next(&in.r);
    if (rc == 0 && in.r.kind != KIND_ARRAY)
        rc = value_not_a("an array", &in);
    for (more = 1; rc == 0 && more > 0; i++) {
        more = reader_element(&in.r, i == 0);
        rc = more > 0 ? take_next(&g, &in) : more;
        if (rc < 0 && more > 0)
            value_at(e, "[%zu]", i);
    }
    if (rc == 0)
        rc = reader_end(&in.r);
    in_end(&in);
    *list = (void *)g.at;
    *n = g.n;
    return rc < 0 ? value_at(e, "%s", what) : 0;
}

void value_free_answers(struct value_answer *list, size_t n)
{
    type_free_array(&type_rows[TYPE_ANSWER], list, n);
}
