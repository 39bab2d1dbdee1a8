#include "mpiexec_lite/plan.h"
#include <stdio.h>
static inline int check_run(struct plan *p, char *const *envp, FILE *out, struct err *e){(void)p;(void)envp;(void)out;return err_set(e,ERR_OTHER,"x");}
