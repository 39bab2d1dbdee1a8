/* pmix_server.h - the name the standard has for it. */
#include "../pmix_ext_server.h"
