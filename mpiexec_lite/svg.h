/* svg.h - pictures as SVG 1.1, by their elements, and text as XML and JSON want it.  How things
 * look is the style sheet's, by class; lengths are pixels.  Pure: all is appended to a buf. */
#ifndef MPIEXEC_LITE_SVG_H
#define MPIEXEC_LITE_SVG_H

#include "wire/buf.h"

/* Text of any bytes: what XML does not take, or is no UTF-8, as \xNN. */
void xml_text(struct buf *out, const char *text);
/* The same as a JSON string, with its quotes (RFC 8259). */
void json_text(struct buf *out, const char *text);

void svg_begin(struct buf *out, double width, double height, const char *title,
               const char *style);
void svg_end(struct buf *out);
/* tip: what a viewer shows on it, or NULL. */
void svg_rect(struct buf *out, const char *class, double x, double y, double w, double h,
              const char *tip);
void svg_line(struct buf *out, const char *class, double x1, double y1, double x2, double y2);
/* y: of the base line. */
void svg_text(struct buf *out, const char *class, double x, double y, const char *text);
/* A path of straight lines: begin, the points, end; or a closed one, to be filled. */
void svg_path(struct buf *out, const char *class);
void svg_point(struct buf *out, double x, double y);
void svg_path_end(struct buf *out, bool closed);

#endif
