/* svg.c - see svg.h */
#include "mpiexec_lite/svg.h"

#include "wire/utf8.h"

#include <string.h>

/* --- text -------------------------------------------------------------- */

/* U+FFFE and U+FFFF, which are UTF-8 and no XML. */
static bool is_no_character(const char *text)
{
    return (unsigned char)text[1] == 0xbf && (unsigned char)text[2] >= 0xbe;
}

void xml_text(struct buf *out, const char *text)
{
    bool utf8 = utf8_valid(text, strlen(text));

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
            buf_printf(out, "&#%d;", c);
        else if (c < ' ' || c == 127 || (c > 127 && !utf8))
            buf_printf(out, "\\x%02X", c);
        else if (c == 0xef && is_no_character(text))
            buf_printf(out, "\\xEF\\xBF\\x%02X", (unsigned char)*(text += 2));
        else
            buf_char(out, (char)c);
    }
}

void json_text(struct buf *out, const char *text)
{
    bool utf8 = utf8_valid(text, strlen(text));

    buf_char(out, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < ' ' || c == 127)
            buf_printf(out, "\\u%04x", c);
        else if (c > 127 && !utf8)
            buf_printf(out, "\\\\x%02X", c);
        else
            buf_char(out, (char)c);
    }
    buf_char(out, '"');
}

/* --- elements ---------------------------------------------------------- */

void svg_begin(struct buf *out, double width, double height, const char *title,
               const char *style)
{
    buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
               "viewBox=\"0 0 %.0f %.0f\">\n<title>", width, height, width, height);
    xml_text(out, title);
    buf_printf(out, "</title>\n<style>%s</style>\n", style);
    svg_rect(out, "paper", 0, 0, width, height, NULL);
}

void svg_end(struct buf *out)
{
    buf_str(out, "</svg>\n");
}

void svg_rect(struct buf *out, const char *class, double x, double y, double w, double h,
              const char *tip)
{
    buf_printf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"",
               class, x, y, w, h);
    if (tip) {
        buf_str(out, "><title>");
        xml_text(out, tip);
        buf_str(out, "</title></rect>\n");
    } else {
        buf_str(out, "/>\n");
    }
}

void svg_line(struct buf *out, const char *class, double x1, double y1, double x2, double y2)
{
    buf_printf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
               class, x1, y1, x2, y2);
}

void svg_text(struct buf *out, const char *class, double x, double y, const char *text)
{
    buf_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
    xml_text(out, text);
    buf_str(out, "</text>\n");
}

void svg_path(struct buf *out, const char *class)
{
    buf_printf(out, "<path class=\"%s\" d=\"M", class);
}

void svg_point(struct buf *out, double x, double y)
{
    buf_printf(out, " %.1f,%.1f", x, y);
}

void svg_path_end(struct buf *out, bool closed)
{
    buf_str(out, closed ? "Z\"/>\n" : "\"/>\n");
}
