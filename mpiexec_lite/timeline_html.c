/* timeline_html.c - a timeline as a page: the picture, and tables of fences and hosts.  It
 * needs nothing else, and runs nothing. */
#include "mpiexec_lite/svg.h"
#include "mpiexec_lite/timeline_impl.h"

enum { TABLE_MAX = 200 };

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
    "<style>body{margin:16px;font:13px sans-serif;color:#1f2933;background:#fff}"
    "table{border-collapse:collapse;margin:8px 16px 24px}"
    "th{text-align:left;border-bottom:2px solid #cbd2d9}"
    "td,th{padding:3px 14px 3px 0}td.n{text-align:right}"
    "tr:nth-child(even) td{background:#f5f7fa}h2{margin:16px;font-size:15px}</style>\n<title>";

static void cell(struct buf *out, const char *text, bool number)
{
    buf_str(out, number ? "<td class=\"n\">" : "<td>");
    xml_text(out, text);
    buf_str(out, "</td>");
}

static void cell_time(struct buf *out, int64_t ns)
{
    cell(out, ns == TIME_NONE ? "-" : timeline_time(ns).text, true);
}

static void cell_number(struct buf *out, long long n)
{
    buf_printf(out, "<td class=\"n\">%lld</td>", n);
}

static void table(struct buf *out, const char *title, size_t n, const char *const *columns)
{
    buf_printf(out, "<h2>%s</h2>\n", title);
    if (n > TABLE_MAX)
        buf_printf(out, "<p>The first %d of %zu.</p>\n", TABLE_MAX, n);
    buf_str(out, "<table>\n<tr>");
    for (; *columns; columns++)
        buf_printf(out, "<th>%s</th>", *columns);
    buf_str(out, "</tr>\n");
}

static void put_fences(const struct timeline *t, struct buf *out)
{
    static const char *const columns[] = { "job", "fence", "ranks", "first came", "last came",
                                           "last to leave", "all waited", "who was last", NULL };

    table(out, "Fences", t->nfences, columns);
    for (size_t i = 0; i < t->nfences && i < TABLE_MAX; i++) {
        const struct tl_fence *f = &t->fences[i];

        buf_str(out, "<tr>");
        cell_number(out, t->jobs[f->job].number);
        cell_number(out, f->number);
        cell_number(out, f->entered);
        cell_time(out, f->first_in);
        cell_time(out, f->last_in);
        cell_time(out, f->out);
        cell_time(out, f->waited);
        cell(out, timeline_name(t, f->last).text, false);
        buf_str(out, "</tr>\n");
    }
    buf_str(out, "</table>\n");
}

static void put_hosts(const struct timeline *t, struct buf *out)
{
    static const char *const columns[] = { "host", "connected", "ready", "times may be off by",
                                           "fences not kept", NULL };

    table(out, "Hosts", t->nhosts, columns);
    for (size_t i = 0; i < t->nhosts && i < TABLE_MAX; i++) {
        const struct tl_host *h = &t->hosts[i];

        buf_str(out, "<tr>");
        cell(out, h->name, false);
        cell_time(out, h->connected);
        cell_time(out, h->ready);
        cell_time(out, h->unsure);
        cell_number(out, h->dropped);
        buf_str(out, "</tr>\n");
    }
    buf_str(out, "</table>\n");
}

void timeline_html(const struct timeline *t, struct buf *out)
{
    buf_str(out, head);
    xml_text(out, t->title);
    buf_str(out, "</title>\n</head>\n<body>\n");
    timeline_picture(t, out);
    if (t->nfences)
        put_fences(t, out);
    put_hosts(t, out);
    buf_str(out, "</body>\n</html>\n");
}
