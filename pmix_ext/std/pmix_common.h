/* pmix_common.h - the name the standard has for it. */
#include "../pmix_ext.h"
