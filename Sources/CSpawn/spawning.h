#ifndef TRUEUP_SPAWNING_H
#define TRUEUP_SPAWNING_H

/* What glibc declares only for GNU sources, which the module Glibc leaves out. */
#include <spawn.h>

extern int pipe2(int ends[2], int flags);
extern int posix_spawn_file_actions_addchdir_np(
    posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(
    posix_spawn_file_actions_t *actions, int from);

#endif
