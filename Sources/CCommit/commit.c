#include "commit.h"

#include <stddef.h>

#ifndef TRUEUP_COMMIT
#define TRUEUP_COMMIT NULL
#endif

const char *trueup_commit(void) { return TRUEUP_COMMIT; }
