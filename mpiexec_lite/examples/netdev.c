/* netdev.c - a set-up provider, as a shared object, that pins ranks to network devices.
 *
 * Each rank of a node gets NET_DEVICE, one of the node's devices in turn, and NET_PORT, a
 * number that no other rank of the job on that device has.
 *
 *     cc -shared -fPIC -I/usr/local/include/mpiexec_lite netdev.c -ljansson -o netdev.so
 *     mpiexec_lite -provider ./netdev.so -n 4 ./app
 *
 * See mpiexec_lite-providers(7). */
#include <mpiexec_lite_provider.h>

#include <jansson.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PORT = 20000 };

static char *answer_error(const char *why)
{
    json_t *x = json_pack("{s:s}", "error", why);
    char *text = json_dumps(x, JSON_COMPACT);

    json_decref(x);
    return text;
}

/* The i-th device, as often around as it takes; the loopback counts where it is alone. */
static int choose(int i, char name[IF_NAMESIZE])
{
    struct if_nameindex *all = if_nameindex();
    int n = 0;

    while (all && all[n].if_index)
        n++;
    if (n > 0)
        snprintf(name, IF_NAMESIZE, "%s", all[n > 1 ? 1 + i % (n - 1) : 0].if_name);
    if_freenameindex(all);
    return n;
}

static json_t *variable(const char *name, const char *value)
{
    return json_pack("{s:s,s:s,s:{s:s,s:s}}", "key", "pmix.envar.set", "type", "PMIX_ENVAR",
                     "value", "envar", name, "value", value);
}

static char *set_up_child(int local_rank)
{
    char name[IF_NAMESIZE], port[16];
    json_t *x;
    char *text;

    if (choose(local_rank, name) <= 0)
        return answer_error("this node has no network device");
    snprintf(port, sizeof port, "%d", FIRST_PORT + local_rank);
    x = json_pack("{s:[o,o]}", "infos", variable("NET_DEVICE", name), variable("NET_PORT", port));
    text = json_dumps(x, JSON_COMPACT);
    json_decref(x);
    return text;
}

char *mpiexec_lite_provider(const char *request)
{
    json_t *x = json_loads(request, 0, NULL);
    const char *hook = json_string_value(json_object_get(x, "hook"));
    char *answer = NULL;

    if (hook && !strcmp(hook, "describe"))
        answer = strdup("{\"hooks\":[\"setup-child\"],\"timeout\":10}");
    else if (hook && !strcmp(hook, "setup-child"))
        answer = set_up_child((int)json_integer_value(json_object_get(x, "local_rank")));
    json_decref(x);
    return answer;
}
