#ifndef TRUEUP_ALLOCATOR_H
#define TRUEUP_ALLOCATOR_H

/* The settings of glibc's allocator, which the module Glibc leaves out. */
#include <malloc.h>

#endif
