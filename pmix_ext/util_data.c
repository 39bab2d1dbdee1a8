/* util_data.c - values of any type by the number of their type: copied, shown, and packed
 * into buffers; see "any value" in pmix_ext.h.
 *
 * A packed value is a line "TYPE COUNT LENGTH" and LENGTH bytes, the JSON array of the
 * values: a buffer tells what is in it, wherever it was packed. */
#include "pmix_ext/pmix_ext.h"
#include "pmix_ext/types.h"
#include "pmix_ext/value.h"

#include <inttypes.h>

/* --- copied and shown ------------------------------------------------------------- */

/* A string is handed over as itself, and not by its address. */
pmix_status_t PMIx_Data_copy(void **dest, void *src, pmix_data_type_t type)
{
    const struct type *t = type_of(type);
    struct err e;
    void *to;

    if (!dest || !src)
        return PMIX_ERR_BAD_PARAM;
    if (!t)
        return PMIX_ERR_UNKNOWN_DATA_TYPE;
    *dest = NULL;
    to = type == PMIX_STRING ? strdup(src) : malloc(t->size);
    if (!to)
        return PMIX_ERR_NOMEM;
    if (type != PMIX_STRING && value_copy(type, src, to, &e) < 0) {
        free(to);
        return e.code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_BAD_PARAM;
    }
    *dest = to;
    return PMIX_SUCCESS;
}

/* The text is the caller's then; NULL if there was no memory for it. */
static char *take_text(struct buf *b)
{
    char *text = b->failed ? NULL : strdup(b->len ? buf_bytes(b) : "");

    buf_clear(b);
    return text;
}

pmix_status_t PMIx_Data_print(char **output, char *prefix, void *src, pmix_data_type_t type)
{
    struct buf b = BUF_INIT;
    void *string = src;

    if (!output || !src)
        return PMIX_ERR_BAD_PARAM;
    if (!type_of(type))
        return PMIX_ERR_UNKNOWN_DATA_TYPE;
    buf_str(&b, prefix ? prefix : "");
    value_print(type, type == PMIX_STRING ? (void *)&string : src, &b);
    *output = take_text(&b);
    return *output ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
}

static char *shown(pmix_data_type_t type, const void *value)
{
    struct buf b = BUF_INIT;

    value_print(type, value, &b);
    return take_text(&b);
}

char *PMIx_Info_string(const pmix_info_t *info)
{
    return shown(PMIX_INFO, info);
}

char *PMIx_Value_string(const pmix_value_t *value)
{
    return shown(PMIX_VALUE, value);
}

char *PMIx_Info_directives_string(pmix_info_directives_t directives)
{
    return shown(PMIX_INFO_DIRECTIVES, &directives);
}

/* --- buffers ------------------------------------------------------------------------ */

static size_t unread(const pmix_data_buffer_t *b)
{
    return b->base_ptr ? b->bytes_used - (size_t)(b->unpack_ptr - b->base_ptr) : 0;
}

/* Append bytes, which may not lie in the buffer itself. */
static pmix_status_t append(pmix_data_buffer_t *b, const char *bytes, size_t n)
{
    size_t done = b->base_ptr ? (size_t)(b->unpack_ptr - b->base_ptr) : 0;
    size_t need = b->bytes_used + n;

    if (need > b->bytes_allocated) {
        size_t room = need < 2 * b->bytes_allocated ? 2 * b->bytes_allocated : need;
        char *base = realloc(b->base_ptr, room);

        if (!base)
            return PMIX_ERR_NOMEM;
        b->base_ptr = base;
        b->unpack_ptr = base + done;
        b->bytes_allocated = room;
    }
    if (n)
        memcpy(b->base_ptr + b->bytes_used, bytes, n);
    b->bytes_used = need;
    b->pack_ptr = b->base_ptr ? b->base_ptr + need : NULL;
    return PMIX_SUCCESS;
}

/* What it held is freed. */
void PMIx_Data_buffer_load(pmix_data_buffer_t *b, char *bytes, size_t size)
{
    PMIx_Data_buffer_destruct(b);
    if (!bytes)
        return;
    *b = (pmix_data_buffer_t){ bytes, bytes + size, bytes, size, size };
}

void PMIx_Data_buffer_unload(pmix_data_buffer_t *b, char **bytes, size_t *size)
{
    pmix_byte_object_t payload;

    if (PMIx_Data_unload(b, &payload) != PMIX_SUCCESS)
        payload = (pmix_byte_object_t){ NULL, 0 };
    *bytes = payload.bytes;
    *size = payload.size;
}

pmix_status_t PMIx_Data_load(pmix_data_buffer_t *buffer, pmix_byte_object_t *payload)
{
    if (!buffer || !payload)
        return PMIX_ERR_BAD_PARAM;
    PMIx_Data_buffer_load(buffer, payload->bytes, payload->size);
    *payload = (pmix_byte_object_t){ NULL, 0 };
    return PMIX_SUCCESS;
}

/* What was unpacked already is not in it. */
pmix_status_t PMIx_Data_unload(pmix_data_buffer_t *buffer, pmix_byte_object_t *payload)
{
    size_t n;

    if (!buffer || !payload)
        return PMIX_ERR_BAD_PARAM;
    n = unread(buffer);
    if (n)
        memmove(buffer->base_ptr, buffer->unpack_ptr, n);
    *payload = (pmix_byte_object_t){ buffer->base_ptr, n };
    PMIx_Data_buffer_construct(buffer);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Data_embed(pmix_data_buffer_t *buffer, const pmix_byte_object_t *payload)
{
    if (!buffer || !payload)
        return PMIX_ERR_BAD_PARAM;
    PMIx_Data_buffer_destruct(buffer);
    return append(buffer, payload->bytes, payload->size);
}

pmix_status_t PMIx_Data_copy_payload(pmix_data_buffer_t *dest, pmix_data_buffer_t *src)
{
    if (!dest || !src || dest == src)
        return PMIX_ERR_BAD_PARAM;
    return append(dest, src->unpack_ptr, unread(src));
}

/* --- packed ---------------------------------------------------------------------------- */

pmix_status_t PMIx_Data_pack(const pmix_proc_t *target, pmix_data_buffer_t *buffer, void *src,
                             int32_t num_vals, pmix_data_type_t type)
{
    struct buf text = BUF_INIT, all = BUF_INIT;
    pmix_status_t rc;
    struct err e;

    (void)target;
    if (!buffer || !src || num_vals < 0)
        return PMIX_ERR_BAD_PARAM;
    if (!type_of(type))
        return PMIX_ERR_UNKNOWN_DATA_TYPE;
    if (value_encode_array(type, src, (size_t)num_vals, "data", &text, &e) < 0) {
        buf_clear(&text);
        return e.code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_PACK_FAILURE;
    }
    buf_printf(&all, "%u %" PRId32 " %zu\n", (unsigned)type, num_vals, text.len);
    buf_add(&all, buf_bytes(&text), text.len);
    rc = all.failed ? PMIX_ERR_NOMEM : append(buffer, buf_bytes(&all), all.len);
    buf_clear(&text);
    buf_clear(&all);
    return rc;
}

struct packed {
    pmix_data_type_t type;
    int32_t          count;
    const char      *text;
    size_t           len;
};

/* A number of at most `most` that ends with `end`; moves *p behind. */
static bool read_number(const char **p, const char *end_of_all, char end, uint64_t most,
                        uint64_t *number)
{
    const char *s = *p;

    *number = 0;
    while (s < end_of_all && *s >= '0' && *s <= '9') {
        *number = *number * 10 + (uint64_t)(*s++ - '0');
        if (*number > most)
            return false;
    }
    if (s == *p || s == end_of_all || *s != end)
        return false;
    *p = s + 1;
    return true;
}

static pmix_status_t read_packed(const pmix_data_buffer_t *b, struct packed *packed)
{
    const char *p = b->unpack_ptr, *end = p + unread(b);
    uint64_t type, count, len;

    if (!unread(b))
        return PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER;
    if (!read_number(&p, end, ' ', UINT16_MAX, &type) ||
        !read_number(&p, end, ' ', INT32_MAX, &count) ||
        !read_number(&p, end, '\n', SIZE_MAX / 16, &len))
        return PMIX_ERR_UNPACK_FAILURE;
    if (len > (size_t)(end - p))
        return PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER;
    *packed = (struct packed){ (pmix_data_type_t)type, (int32_t)count, p, len };
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Data_unpack(const pmix_proc_t *source, pmix_data_buffer_t *buffer,
                               void *dest, int32_t *max_num_values, pmix_data_type_t type)
{
    const struct type *t = type_of(type);
    struct packed packed;
    pmix_status_t rc;
    struct err e;
    void *array;
    size_t n;

    (void)source;
    if (!buffer || !dest || !max_num_values)
        return PMIX_ERR_BAD_PARAM;
    rc = t ? read_packed(buffer, &packed) : PMIX_ERR_UNKNOWN_DATA_TYPE;
    if (rc != PMIX_SUCCESS)
        return rc;
    if (packed.type != type)
        return PMIX_ERR_TYPE_MISMATCH;
    if (packed.count > *max_num_values)
        return PMIX_ERR_UNPACK_INADEQUATE_SPACE;
    if (value_decode_array(type, packed.text, packed.len, "data", &array, &n, &e) < 0)
        return e.code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_UNPACK_FAILURE;
    if (n != (size_t)packed.count) {
        value_free_array(type, array, n);
        return PMIX_ERR_UNPACK_FAILURE;
    }
    /* What the values own is the caller's; the block they came in is not needed. */
    if (n)
        memcpy(dest, array, n * t->size);
    free(array);
    *max_num_values = packed.count;
    buffer->unpack_ptr = buffer->base_ptr + (packed.text - buffer->base_ptr) + packed.len;
    return PMIX_SUCCESS;
}

/* Compression is optional in the standard: false says that bytes are as they were. */
bool PMIx_Data_compress(const uint8_t *inbytes, size_t size, uint8_t **outbytes,
                        size_t *nbytes)
{
    (void)inbytes;
    (void)size;
    *outbytes = NULL;
    *nbytes = 0;
    return false;
}

bool PMIx_Data_decompress(const uint8_t *inbytes, size_t size, uint8_t **outbytes,
                          size_t *nbytes)
{
    return PMIx_Data_compress(inbytes, size, outbytes, nbytes);
}
