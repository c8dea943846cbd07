#ifndef TRUEUP_COMMIT_H
#define TRUEUP_COMMIT_H

/// The commit that a release was built from, or NULL in every other build.
const char *trueup_commit(void);

#endif
