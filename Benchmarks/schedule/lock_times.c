// Notes how long a program held SQLite's write lock: one line for each transaction, with milliseconds of the
// thread's processor time and of the clock. Preloaded (LD_PRELOAD); writes to LOCK_TIMES and the process id.
//
// In WAL mode the write lock is byte 120 of the -shm file. What a busy machine adds shows in the second number
// alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WRITE_LOCK = 120 };
static int (*real_fcntl)(int, int, ...);
static FILE *times;
static __thread int is_held;
static __thread double processor, wall;

static double milliseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static int locked(int file, int command, void *argument) {
    struct flock *lock = argument;
    int is_write_lock = command == F_SETLK && lock && lock->l_start == WRITE_LOCK && lock->l_len == 1;
    if (is_write_lock && is_held && lock->l_type == F_UNLCK) {
        is_held = 0;
        if (times)
            fprintf(times, "%.2f %.2f\n", milliseconds(CLOCK_THREAD_CPUTIME_ID) - processor,
                    milliseconds(CLOCK_MONOTONIC) - wall);
    }
    int result = real_fcntl(file, command, argument);
    if (is_write_lock && !is_held && lock->l_type == F_WRLCK && result == 0) {
        is_held = 1;
        processor = milliseconds(CLOCK_THREAD_CPUTIME_ID);
        wall = milliseconds(CLOCK_MONOTONIC);
    }
    return result;
}

int fcntl64(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return locked(file, command, argument);
}

int fcntl(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return locked(file, command, argument);
}

__attribute__((constructor)) static void begin(void) {
    real_fcntl = dlsym(RTLD_NEXT, "fcntl64");
    if (!real_fcntl) real_fcntl = dlsym(RTLD_NEXT, "fcntl");
    const char *path = getenv("LOCK_TIMES");
    if (!path) return;
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", path, getpid());
    times = fopen(name, "ae");
    if (times) setvbuf(times, NULL, _IOLBF, 0);
}
