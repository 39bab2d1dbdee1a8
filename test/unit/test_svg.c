/* Tests of mpiexec_lite/svg.c: text that may be anything. */
#include "mpiexec_lite/svg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct { const char *name, *text, *xml, *json; } cases[] = {
    { "plain", "abc", "abc", "\"abc\"" },
    { "markup", "<a b=\"c\">'&", "&#60;a b=&#34;c&#34;&#62;&#39;&#38;",
      "\"<a b=\\\"c\\\">'&\"" },
    { "a backslash", "a\\b", "a\\b", "\"a\\\\b\"" },
    { "control characters", "a\n\x1b\x7f", "a\\x0A\\x1B\\x7F", "\"a\\u000a\\u001b\\u007f\"" },
    { "UTF-8", "\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xac", "\"\xc3\xa4\xe2\x82\xac\"" },
    { "no UTF-8", "\xc3\xa4\xff", "\\xC3\\xA4\\xFF", "\"\\\\xC3\\\\xA4\\\\xFF\"" },
    { "no character of XML", "\xef\xbf\xbe.", "\\xEF\\xBF\\xBE.", "\"\xef\xbf\xbe.\"" },
    { "one beside it", "\xef\xbf\xbd.", "\xef\xbf\xbd.", "\"\xef\xbf\xbd.\"" },
};

static void test_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf xml = BUF_INIT, json = BUF_INIT;

        print_message("  %s\n", cases[i].name);
        xml_text(&xml, cases[i].text);
        json_text(&json, cases[i].text);
        assert_string_equal(buf_bytes(&xml), cases[i].xml);
        assert_string_equal(buf_bytes(&json), cases[i].json);
        buf_clear(&xml);
        buf_clear(&json);
    }
}

static void test_elements(void **state)
{
    struct buf out = BUF_INIT;

    (void)state;
    svg_rect(&out, "a", 1, 2, 3.25, 4, "x<y");
    svg_text(&out, "b c", 1, 2, "&");
    svg_path(&out, "p");
    svg_point(&out, 0, 1);
    svg_point(&out, 2, 3);
    svg_path_end(&out, true);
    assert_string_equal(buf_bytes(&out),
        "<rect class=\"a\" x=\"1.0\" y=\"2.0\" width=\"3.2\" height=\"4.0\">"
        "<title>x&#60;y</title></rect>\n"
        "<text class=\"b c\" x=\"1.0\" y=\"2.0\">&#38;</text>\n"
        "<path class=\"p\" d=\"M 0.0,1.0 2.0,3.0Z\"/>\n");
    buf_clear(&out);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
