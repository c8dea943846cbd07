// Counts the durable steps of a program and ends it, or fills the disk, at a chosen one.
//
// Preloaded (LD_PRELOAD) into the real executable, so that nothing in the program knows of it. A step is
// a call that makes something last or appear: a sync, a rename, a link, a removal, a new file or folder,
// or a write to a file, all below DURABLE_STEPS_ROOT. Pipes, sockets and terminals are no steps.
//
//   DURABLE_STEPS_ROOT      folder below which steps are counted
//   DURABLE_STEPS_COUNT     file that holds the number of steps so far, as 8 bytes; it survives SIGKILL
//   DURABLE_STEPS_KILL_AT   the step before which the process is killed (SIGKILL)
//   DURABLE_STEPS_FULL_AT   the step from which on every write finds the disk full (ENOSPC)
//   DURABLE_STEPS_COMMITS   file that holds, as two numbers of 8 bytes, the commits that were written to a
//                           write-ahead log of SQLite and the syncs of such logs
//   DURABLE_STEPS_KIND      `sync` counts all but plain writes; `write` (default) counts writes too
//   DURABLE_STEPS_OF        only steps at files whose path holds this text are counted
//
// A disturbance between two files that are written one after the other:
//
//   DURABLE_STEPS_AFTER     it begins after this counted step
//   DURABLE_STEPS_WHILE     it lasts while this file is there
//   DURABLE_STEPS_THEN      `kill`: the process is killed before its next step at any file, plain writes too;
//                           `full`: every write to a file that DURABLE_STEPS_OF does not name finds the disk full

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char root[PATH_MAX];
static size_t root_length;
static _Atomic uint64_t own_count;
static _Atomic uint64_t *count = &own_count;
static uint64_t kill_at = UINT64_MAX, full_at = UINT64_MAX;
static int counts_writes = 1;
static char counted_files[NAME_MAX + 1];
// Whether the file that this thread has just asked about is one whose steps are counted.
static __thread int is_counted = 1;
static uint64_t disturbed_after = UINT64_MAX;
static const char *disturbed_while;
static int then_kills, then_fills;
static _Atomic int is_disturbed;
static _Atomic uint64_t own_commits[2];
static _Atomic uint64_t *commits = own_commits;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static uint64_t number(const char *name) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : UINT64_MAX;
}

static void count_commits_in(const char *file) {
    int descriptor = NEXT(open)(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return;
    if (NEXT(ftruncate)(descriptor, sizeof own_commits) == 0) {
        void *shared = mmap(NULL, sizeof own_commits, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (shared != MAP_FAILED) commits = shared;
    }
    close(descriptor);
}

__attribute__((constructor)) static void begin(void) {
    if (getenv("DURABLE_STEPS_COMMITS")) count_commits_in(getenv("DURABLE_STEPS_COMMITS"));
    const char *folder = getenv("DURABLE_STEPS_ROOT");
    if (!folder || !realpath(folder, root)) { root[0] = 0; return; }
    root_length = strlen(root);
    kill_at = number("DURABLE_STEPS_KILL_AT");
    full_at = number("DURABLE_STEPS_FULL_AT");
    const char *kind = getenv("DURABLE_STEPS_KIND");
    counts_writes = !(kind && strcmp(kind, "sync") == 0);
    const char *files = getenv("DURABLE_STEPS_OF"), *then = getenv("DURABLE_STEPS_THEN");
    if (files && strlen(files) < sizeof counted_files) strcpy(counted_files, files);
    disturbed_after = number("DURABLE_STEPS_AFTER");
    disturbed_while = getenv("DURABLE_STEPS_WHILE");
    then_kills = then && strcmp(then, "kill") == 0;
    then_fills = then && strcmp(then, "full") == 0;
    const char *file = getenv("DURABLE_STEPS_COUNT");
    if (!file) return;
    int descriptor = NEXT(open)(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return;
    if (NEXT(ftruncate)(descriptor, sizeof *count) == 0) {
        void *shared = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (shared != MAP_FAILED) count = shared;
    }
    close(descriptor);
}

// Whether a path lies below the root; relative ones are seen from `folder`.
static int is_ours_at(int folder, const char *path) {
    if (!root_length || !path) return 0;
    char whole[PATH_MAX * 2];
    if (path[0] == '/') {
        if (strlen(path) >= sizeof whole) return 0;
        strcpy(whole, path);
    } else if (folder == AT_FDCWD) {
        if (!getcwd(whole, PATH_MAX)) return 0;
        strcat(whole, "/");
        strncat(whole, path, PATH_MAX - 1);
    } else {
        return 0;
    }
    if (strncmp(whole, root, root_length) != 0 || whole[root_length] != '/') return 0;
    is_counted = !*counted_files || strstr(whole + root_length, counted_files) != NULL;
    // What a job tells of itself each second, and is ordered, is meant for nobody after its end.
    return !strstr(whole + root_length, "-progress") && !strstr(whole + root_length, "-orders");
}

static int is_ours(const char *path) { return is_ours_at(AT_FDCWD, path); }

static int is_our_file(int descriptor) {
    if (!root_length) return 0;
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) return 0;
    char link[64], path[PATH_MAX];
    char *digits = link + sizeof link;
    *--digits = 0;
    for (unsigned rest = (unsigned)descriptor; digits == link + sizeof link - 1 || rest; rest /= 10) *--digits = '0' + rest % 10;
    const char *prefix = "/proc/self/fd/";
    digits -= strlen(prefix);
    memcpy(digits, prefix, strlen(prefix));
    ssize_t length = readlink(digits, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_ours(path);
}

static int is_log(int descriptor) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    return length > 4 && memcmp(path + length - 4, "-wal", 4) == 0;
}

// The header of a frame that ends a transaction holds the size of the database, any other 0.
static void note_write(int descriptor, const void *bytes, size_t size) {
    if (size != 24 || !is_log(descriptor)) return;
    const unsigned char *header = bytes;
    if (header[4] | header[5] | header[6] | header[7]) atomic_fetch_add(&commits[0], 1);
}

static void note_sync(int descriptor) {
    if (is_log(descriptor)) atomic_fetch_add(&commits[1], 1);
}

static void end(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

// Does what DURABLE_STEPS_THEN says; returns whether the disk is full for this file.
static int disturb(void) {
    if (!atomic_load(&is_disturbed) && !(disturbed_while && access(disturbed_while, F_OK) == 0)) return 0;
    if (then_kills) end();
    return then_fills && !(*counted_files && is_counted);
}

// Counts one step; returns whether the disk is full by now.
static int step(void) {
    int is_full = disturb();
    if (!is_counted) return is_full;
    uint64_t mine = atomic_fetch_add(count, 1) + 1;
    if (mine == kill_at) end();
    if (mine >= disturbed_after) atomic_store(&is_disturbed, 1);
    return is_full || mine >= full_at;
}

static int write_step(int descriptor) {
    if (!is_our_file(descriptor)) return 0;
    if (!counts_writes) return disturb() || (is_counted && atomic_load(count) >= full_at);
    return step();
}

#define FULL(value) do { errno = ENOSPC; return value; } while (0)

int fsync(int descriptor) { note_sync(descriptor); if (is_our_file(descriptor)) step(); return NEXT(fsync)(descriptor); }
int fdatasync(int descriptor) { note_sync(descriptor); if (is_our_file(descriptor)) step(); return NEXT(fdatasync)(descriptor); }

ssize_t write(int descriptor, const void *bytes, size_t size) {
    if (write_step(descriptor)) FULL(-1);
    return NEXT(write)(descriptor, bytes, size);
}
ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset) {
    note_write(descriptor, bytes, size);
    if (write_step(descriptor)) FULL(-1);
    return NEXT(pwrite)(descriptor, bytes, size, offset);
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off64_t offset) {
    note_write(descriptor, bytes, size);
    if (write_step(descriptor)) FULL(-1);
    return NEXT(pwrite64)(descriptor, bytes, size, offset);
}
ssize_t writev(int descriptor, const struct iovec *parts, int parts_count) {
    if (write_step(descriptor)) FULL(-1);
    return NEXT(writev)(descriptor, parts, parts_count);
}
ssize_t pwritev(int descriptor, const struct iovec *parts, int parts_count, off_t offset) {
    if (write_step(descriptor)) FULL(-1);
    return NEXT(pwritev)(descriptor, parts, parts_count, offset);
}
ssize_t pwritev64(int descriptor, const struct iovec *parts, int parts_count, off64_t offset) {
    if (write_step(descriptor)) FULL(-1);
    return NEXT(pwritev64)(descriptor, parts, parts_count, offset);
}
int posix_fallocate(int descriptor, off_t offset, off_t size) {
    return write_step(descriptor) ? ENOSPC : NEXT(posix_fallocate)(descriptor, offset, size);
}
int posix_fallocate64(int descriptor, off64_t offset, off64_t size) {
    return write_step(descriptor) ? ENOSPC : NEXT(posix_fallocate64)(descriptor, offset, size);
}
int ftruncate(int descriptor, off_t size) {
    if (is_our_file(descriptor)) step();
    return NEXT(ftruncate)(descriptor, size);
}
int ftruncate64(int descriptor, off64_t size) {
    if (is_our_file(descriptor)) step();
    return NEXT(ftruncate64)(descriptor, size);
}
int rename(const char *from, const char *to) {
    if (is_ours(to)) step();
    return NEXT(rename)(from, to);
}
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    if (is_ours_at(to_folder, to)) step();
    return NEXT(renameat)(from_folder, from, to_folder, to);
}
int unlink(const char *path) { if (is_ours(path)) step(); return NEXT(unlink)(path); }
int unlinkat(int folder, const char *path, int flags) {
    if (is_ours_at(folder, path)) step();
    return NEXT(unlinkat)(folder, path, flags);
}
int rmdir(const char *path) { if (is_ours(path)) step(); return NEXT(rmdir)(path); }
int mkdir(const char *path, mode_t mode) {
    if (is_ours(path) && step()) FULL(-1);
    return NEXT(mkdir)(path, mode);
}
int symlink(const char *target, const char *path) {
    if (is_ours(path) && step()) FULL(-1);
    return NEXT(symlink)(target, path);
}

// A file that exists already costs nothing to open.
static int creates(const char *path, int flags) {
    return (flags & O_CREAT) && is_ours(path) && access(path, F_OK) != 0;
}

#define OPENING(name)                                                  \
    int name(const char *path, int flags, ...) {                       \
        mode_t mode = 0;                                               \
        if (flags & (O_CREAT | O_TMPFILE)) {                           \
            va_list list;                                              \
            va_start(list, flags);                                     \
            mode = va_arg(list, mode_t);                               \
            va_end(list);                                              \
        }                                                              \
        if (creates(path, flags) && step()) FULL(-1);                  \
        return NEXT(name)(path, flags, mode);                          \
    }
OPENING(open)
OPENING(open64)
