/* nearest.c - see nearest.h */
#include "wire/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define LONGEST 63
#define SHORTEST_PREFIX 3    /* letters of an abbreviation that point at one name */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return strncasecmp(&a, &b, 1) == 0;
}

/* Optimal string alignment: row i holds the distances of a's first i letters to
 * each beginning of b; a swap looks two rows back. */
size_t nearest_distance(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b);
    size_t row[3][LONGEST + 1];

    if (la > LONGEST || lb > LONGEST)
        return SIZE_MAX;
    for (size_t j = 0; j <= lb; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            now[j] = up[j - 1] + !same(a[i - 1], b[j - 1]);
            now[j] = least(now[j], least(up[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                now[j] = least(now[j], up2[j - 2] + 1);
        }
    }
    return row[la % 3][lb];
}

void nearest_start(struct nearest *n, const char *word)
{
    n->word = word;
    n->best = NULL;
    n->distance = strlen(word) / 3 + 1;
}

/* An abbreviation is as near as can be, whatever its length. */
static bool abbreviates(const char *word, const char *name)
{
    size_t n = strlen(word);

    return n >= SHORTEST_PREFIX && strncasecmp(word, name, n) == 0;
}

void nearest_try(struct nearest *n, const char *name)
{
    size_t d = nearest_distance(n->word, name);

    if (d > 1 && abbreviates(n->word, name))
        d = 1;
    if (d >= n->distance || d >= strlen(name))
        return;
    n->best = name;
    n->distance = d;
}
