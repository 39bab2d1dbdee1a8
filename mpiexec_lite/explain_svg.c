/* explain_svg.c - --explain: the answer as a picture: each host with its ranks, on its
 * processors where those are known, else on its slots. */
#include "mpiexec_lite/explain_impl.h"
#include "mpiexec_lite/svg.h"

#include "wire/rank_list.h"

#include <stdlib.h>
#include <string.h>

enum {
    HOSTS_MAX = 40, PROGRAMS_MAX = 8, CELLS_MAX = 1024, SLOTS_MAX = 256,   /* that are drawn */
    COLOURS = 8, WIDTH = 1000, CELL = 26, GAP = 4, LINE = 18
};
static const double LEFT = 24, RIGHT = WIDTH - 24;

static const char style[] =
    "text{font:12px sans-serif;fill:#1f2933}.title{font-size:17px;font-weight:bold}"
    ".small{font-size:11px;fill:#52606d}.head{font-size:14px;font-weight:bold}"
    ".bad{fill:#b91c1c}.number{font-size:11px;text-anchor:middle}"
    ".long{font-size:7px;text-anchor:middle}.paper{fill:#fff}"
    ".host{fill:#f5f7fa;stroke:#cbd2d9}.socket{fill:#fff;stroke:#7b8794}"
    ".core{fill:#eef1f4;stroke:#cbd2d9}.free{fill:#fff;stroke:#9aa5b1;stroke-dasharray:2 2}"
    ".barred{fill:#cbd2d9;stroke:#9aa5b1}.many{fill:#fff;stroke:#b91c1c;stroke-width:2}"
    ".r0{fill:#a9d0f5}.r1{fill:#f9d58a}.r2{fill:#b5dfc4}.r3{fill:#f2b8a8}.r4{fill:#d3c1ec}"
    ".r5{fill:#e6dc8c}.r6{fill:#a8dcdc}.r7{fill:#efb7d3}";

struct picture {
    struct buf *out;
    double x, y;                         /* where the next thing is to be */
};

/* --- text -------------------------------------------------------------- */

/* A line, with who has decided it; the text is used up. */
static void put_line(struct picture *p, const char *class, double x, struct buf *text, const char *by)
{
    enum { MOST = 150 };

    if (*by)
        buf_printf(text, "  [%s]", by);
    if (text->len > MOST) {
        size_t len = MOST;

        while (len && ((unsigned char)buf_bytes(text)[len] & 0xc0) == 0x80)
            len--;                       /* not within a character */
        buf_cut(text, len);
        buf_str(text, "…");
    }
    if (text->len && !text->failed)
        svg_text(p->out, class, x, p->y, buf_bytes(text));
    p->y += LINE;
    buf_clear(text);
}

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* "ranks 0-3" */
static void add_ranks(struct buf *to, const char *list)
{
    buf_printf(to, "%s %s", strpbrk(list, ",-") ? "ranks" : "rank", list);
}

/* --- cells: a processor or a slot, with the rank that has it ----------- */

static void put_cell(struct picture *p, const char *class, const char *text, const char *tip)
{
    svg_rect(p->out, class, p->x, p->y, CELL, CELL, tip);
    if (*text)                           /* six digits have room, if they are small */
        svg_text(p->out, strlen(text) > 4 ? "long" : "number", p->x + CELL / 2.0, p->y + CELL / 2.0 + 4, text);
    p->x += CELL + GAP;
}

static void put_rank(struct picture *p, int rank, const char *tip)
{
    char class[8], text[16];

    snprintf(class, sizeof class, "r%d", rank % COLOURS);
    snprintf(text, sizeof text, "%d", rank);
    put_cell(p, class, text, tip);
}

/* --- where processors are known ---------------------------------------- */

struct cpu_cell {
    int  owners, rank;                   /* how many ranks may use it; the first of them */
    bool barred;                         /* nobody may */
    bool socket, core;                   /* it begins one */
};

/* "rank 3: [B./..][../--] 0": what it says of each processor, in order; how many there are. */
static int read_drawn(const char *text, struct cpu_cell *cells, int most)
{
    int rank = 0, n = 0;
    bool socket = false, core = false;

    sscanf(text, "rank %d", &rank);
    text += strcspn(text, "[");
    for (; *text && *text != ' ' && n < most; text++) {
        socket = socket || *text == '[';
        core = core || *text == '[' || *text == '/';
        if (!strchr("B.-", *text))
            continue;
        cells[n].socket = socket;
        cells[n].core = core;
        cells[n].barred = *text == '-';
        if (*text == 'B' && cells[n].owners++ == 0)
            cells[n].rank = rank;
        socket = core = false;
        n++;
    }
    return n;
}

static void put_cpu(struct picture *p, const struct cpu_cell *c)
{
    char text[32], tip[64];

    if (c->owners == 1) {
        snprintf(tip, sizeof tip, "rank %d", c->rank);
        put_rank(p, c->rank, tip);
    } else if (c->owners) {
        snprintf(text, sizeof text, "×%d", c->owners);
        snprintf(tip, sizeof tip, "rank %d and %d more", c->rank, c->owners - 1);
        put_cell(p, "many", text, tip);
    } else {
        put_cell(p, c->barred ? "barred" : "free", "", c->barred ? "not to be used" : "free");
    }
}

/* How many cells the core or socket has that begins here. */
static int extent(const struct cpu_cell *cells, int at, int n, bool socket)
{
    int end = at + 1;

    while (end < n && !(socket ? cells[end].socket : cells[end].core))
        end++;
    return end - at;
}

static void put_core(struct picture *p, const struct cpu_cell *cells, int n)
{
    double width = n * (CELL + GAP) + GAP;

    if (p->x + width > RIGHT - GAP && p->x > LEFT + 3 * GAP) {
        p->x = LEFT + 3 * GAP;
        p->y += CELL + 3 * GAP;
    }
    svg_rect(p->out, "core", p->x - GAP, p->y - GAP, width, CELL + 2 * GAP, NULL);
    for (int i = 0; i < n; i++)
        put_cpu(p, &cells[i]);
    p->x += GAP * 2;
}

/* In a frame of its own, which is as high as it turns out; the frame comes first, to be
 * below the cores. */
static void put_socket(struct picture *p, const struct cpu_cell *cells, int n)
{
    struct buf cores = BUF_INIT;
    struct picture inner = { &cores, LEFT + 3 * GAP, p->y + 2 * GAP };
    double right = inner.x;

    for (int i = 0, width; i < n; i += width) {
        width = extent(cells, i, n, false);
        put_core(&inner, &cells[i], width);
        right = inner.x > right ? inner.x : right;
    }
    svg_rect(p->out, "socket", LEFT + GAP, p->y, right - LEFT - GAP,
             inner.y + CELL + 2 * GAP - p->y, "a socket");
    buf_add(p->out, cores.len ? buf_bytes(&cores) : "", cores.len);
    p->out->failed = p->out->failed || cores.failed;
    buf_clear(&cores);
    p->y = inner.y + CELL + 4 * GAP;
}

static void put_cpus(struct picture *p, const json_t *drawn)
{
    struct cpu_cell *cells = calloc(CELLS_MAX, sizeof *cells);
    int n = 0;

    for (size_t i = 0; cells && i < json_array_size(drawn); i++)
        n = read_drawn(json_string_value(json_array_get(drawn, i)), cells, CELLS_MAX);
    for (int i = 0, width; i < n; i += width) {
        width = extent(cells, i, n, true);
        put_socket(p, &cells[i], width);
    }
    free(cells);
}

/* --- where they are not ------------------------------------------------ */

/* The next cell, on a further line where there is no room. */
static bool next_slot(struct picture *p, int *n)
{
    if (++*n > SLOTS_MAX)
        return false;
    if (p->x + CELL > RIGHT - 2 * GAP) {
        p->x = LEFT + 2 * GAP;
        p->y += CELL + GAP;
    }
    return true;
}

static void put_slots(struct picture *p, const json_t *host)
{
    json_int_t slots = number(host, "slots"), ranks = number(host, "count");
    const char *list = json_word(host, "ranks");
    int first, last, n = 0;
    char text[48];

    p->x = LEFT + 2 * GAP;
    while (rank_list_next(&list, &first, &last) > 0)
        for (int r = first; r <= last && next_slot(p, &n); r++) {
            snprintf(text, sizeof text, n > slots ? "rank %d, more than slots" : "rank %d", r);
            put_rank(p, r, text);
        }
    for (json_int_t i = ranks; i < slots && next_slot(p, &n); i++)
        put_cell(p, "free", "", "a free slot");
    p->y += CELL + 2 * GAP + LINE / 2.0;
    if (n > SLOTS_MAX) {
        struct buf more = BUF_INIT;

        p->y += GAP;
        buf_printf(&more, "of %lld ranks and %lld slots the first %d", (long long)ranks,
                   (long long)slots, SLOTS_MAX);
        put_line(p, "small", LEFT + 2 * GAP, &more, "");
    }
}

/* --- a host ------------------------------------------------------------ */

static void put_host_line(struct picture *p, const json_t *host)
{
    json_int_t slots = number(host, "slots");
    struct buf text = BUF_INIT;

    buf_printf(&text, "%s", json_word(host, "name"));
    p->y += LINE;
    put_line(p, "head", LEFT + 2 * GAP, &text, "");
    p->y -= GAP;
    if (number(host, "count"))
        add_ranks(&text, json_word(host, "ranks"));
    else
        buf_str(&text, "no ranks");
    buf_printf(&text, "; %lld slot%s; %s%s", (long long)slots, slots == 1 ? "" : "s",
               strcmp(json_word(host, "reached"), "here") ? "by " : "",
               strcmp(json_word(host, "reached"), "here") ? json_word(host, "reached") : "this host");
    put_line(p, "small", LEFT + 2 * GAP, &text, json_word(host, "by"));
}

static void put_binding(struct picture *p, const json_t *b)
{
    static const char *const words[] = { "problem", "note" };
    struct buf text = BUF_INIT;

    if (!b)
        return;
    buf_printf(&text, "bound to %s", json_word(b, "to"));
    put_line(p, "small", LEFT + 2 * GAP, &text, json_word(b, "by"));
    if (json_object_get(b, "map")) {
        buf_printf(&text, "far apart as %s", json_word(b, "map"));
        put_line(p, "small", LEFT + 2 * GAP, &text, json_word(b, "map_by"));
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (json_object_get(b, words[i])) {
            buf_str(&text, json_word(b, words[i]));
            put_line(p, "bad", LEFT + 2 * GAP, &text, "");
        }
}

static void put_host(struct picture *p, const json_t *host)
{
    const json_t *binding = json_object_get(host, "binding");
    const json_t *drawn = json_object_get(binding, "drawn");
    struct buf inside = BUF_INIT;
    struct picture inner = { &inside, LEFT, p->y };

    put_host_line(&inner, host);
    put_binding(&inner, binding);
    inner.y -= GAP;
    if (json_array_size(drawn))
        put_cpus(&inner, drawn);
    else
        put_slots(&inner, host);
    svg_rect(p->out, "host", LEFT - GAP, p->y, RIGHT - LEFT + 2 * GAP, inner.y - p->y, NULL);
    buf_add(p->out, inside.len ? buf_bytes(&inside) : "", inside.len);
    p->out->failed = p->out->failed || inside.failed;
    buf_clear(&inside);
    p->y = inner.y + 3 * GAP;
}

/* --- all of it --------------------------------------------------------- */

static void put_legend(struct picture *p)
{
    static const struct { const char *class, *text, *means; double width; } kinds[] = {
        { "r0", "0", "of rank 0 alone", 130 }, { "many", "×2", "ranks share it", 125 },
        { "free", "", "free", 70 }, { "barred", "", "not to be used", 130 },
    };

    p->x = LEFT;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double x = p->x;

        put_cell(p, kinds[i].class, kinds[i].text, NULL);
        svg_text(p->out, "small", p->x + GAP, p->y + CELL / 2.0 + 4, kinds[i].means);
        p->x = x + kinds[i].width + CELL;
    }
    svg_text(p->out, "small", p->x, p->y + CELL / 2.0 + 4,
             "squares: processors in cores in sockets; slots where those are not known");
    p->y += CELL + 3 * GAP;
}

static void put_programs(struct picture *p, const json_t *list)
{
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < json_array_size(list) && i < PROGRAMS_MAX; i++) {
        const json_t *one = json_array_get(list, i), *argv = json_object_get(one, "argv");
        json_int_t first = number(one, "first_rank"), n = number(one, "ranks");

        buf_printf(&text, n > 1 ? "ranks %lld-%lld:" : "rank %lld:", (long long)first,
                   (long long)(first + n - 1));
        for (size_t k = 0; k < json_array_size(argv); k++)
            buf_printf(&text, " %s", json_string_value(json_array_get(argv, k)));
        put_line(p, "", LEFT, &text, json_word(one, "by"));
    }
    if (json_array_size(list) > PROGRAMS_MAX) {
        buf_printf(&text, "and %zu programs more", json_array_size(list) - PROGRAMS_MAX);
        put_line(p, "small", LEFT, &text, "");
    }
}

void explain_svg(const json_t *answer, struct buf *out)
{
    const json_t *hosts = json_object_get(answer, "hosts"), *s = json_object_get(answer, "summary");
    struct buf body = BUF_INIT, text = BUF_INIT;
    struct picture p = { &body, LEFT, 32 };

    buf_printf(&text, "%lld rank%s on %lld of %lld host%s", (long long)number(s, "ranks"),
               number(s, "ranks") == 1 ? "" : "s", (long long)number(s, "hosts_with_ranks"),
               (long long)number(s, "hosts"), number(s, "hosts") == 1 ? "" : "s");
    put_line(&p, "title", LEFT, &text, "");
    p.y += GAP;
    put_programs(&p, json_object_get(answer, "programs"));
    put_legend(&p);
    for (size_t i = 0; i < json_array_size(hosts) && i < HOSTS_MAX; i++)
        put_host(&p, json_array_get(hosts, i));
    if (json_array_size(hosts) > HOSTS_MAX) {
        buf_printf(&text, "and %zu hosts more", json_array_size(hosts) - HOSTS_MAX);
        p.y += LINE;
        put_line(&p, "head", LEFT, &text, "");
    }
    svg_begin(out, WIDTH, p.y + GAP, "mpiexec_lite -explain", style);
    buf_add(out, body.len ? buf_bytes(&body) : "", body.len);
    svg_end(out);
    out->failed = out->failed || body.failed;
    buf_clear(&body);
}
