/* Fails or kills at the n-th change that a process makes below a folder: loaded before the C library, armed by Python. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static char below[PATH_MAX];      /* the folder; empty: not armed */
static atomic_long calls;         /* changes seen below it since it was armed */
static long fails_at;             /* which of them fails, from 1; 0: none, they are counted */
static int how;                   /* the errno of the failure; 0: the process ends there */
static int lasts;                 /* whether every later one fails too, as on a full disk */

void faults_arm(const char *folder, long nth, int error, int goes_on) {
    strncpy(below, folder, sizeof below - 1);
    atomic_store(&calls, 0);
    fails_at = nth, how = error, lasts = goes_on;
}

static long clock_shift; /* seconds that the clock is ahead; below zero: behind */

void faults_clock(long seconds) { clock_shift = seconds; }

long faults_seen(void) { return atomic_load(&calls); }

static int is_below(const char *path) {
    size_t length = strlen(below);
    return length && !strncmp(path, below, length) && (path[length] == '/' || !path[length]);
}

static int is_open_below(int descriptor) {
    char link[64], path[PATH_MAX];
    if (!*below || descriptor < 3) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_below(path);
}

static int is_named_below(int folder, const char *path) {
    if (!*below) return 0;
    return *path == '/' ? is_below(path) : folder != AT_FDCWD && is_open_below(folder);
}

/* Whether this change is the one that fails; ends the process where it is meant to. A full disk still lets go. */
static int fails(int takes_room) {
    if (how == ENOSPC && !takes_room) return 0;
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (!fails_at || number < fails_at || (number > fails_at && !lasts)) return 0;
    if (!how) _exit(137);
    errno = how;
    return 1;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)

ssize_t write(int d, const void *b, size_t n) { REAL(write); return is_open_below(d) && fails(1) ? -1 : real(d, b, n); }
ssize_t pwrite(int d, const void *b, size_t n, off_t o) { REAL(pwrite); return is_open_below(d) && fails(1) ? -1 : real(d, b, n, o); }
ssize_t pwrite64(int d, const void *b, size_t n, off64_t o) { REAL(pwrite64); return is_open_below(d) && fails(1) ? -1 : real(d, b, n, o); }
ssize_t writev(int d, const struct iovec *v, int n) { REAL(writev); return is_open_below(d) && fails(1) ? -1 : real(d, v, n); }
int clock_gettime(clockid_t which, struct timespec *found) {
    REAL(clock_gettime);
    int result = real(which, found);
    if (!result && which == CLOCK_REALTIME) found->tv_sec += clock_shift;
    return result;
}

#define OPEN(name) int name(const char *p, int flags, ...) { \
    va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); REAL(name); \
    return (flags & O_CREAT) && is_named_below(AT_FDCWD, p) && access(p, F_OK) && fails(1) ? -1 : real(p, flags, mode); }
OPEN(open)
OPEN(open64)
int fsync(int d) { REAL(fsync); return is_open_below(d) && fails(1) ? -1 : real(d); }
int fdatasync(int d) { REAL(fdatasync); return is_open_below(d) && fails(1) ? -1 : real(d); }
int ftruncate(int d, off_t n) { REAL(ftruncate); return is_open_below(d) && fails(1) ? -1 : real(d, n); }
int ftruncate64(int d, off64_t n) { REAL(ftruncate64); return is_open_below(d) && fails(1) ? -1 : real(d, n); }
int rename(const char *a, const char *b) { REAL(rename); return is_named_below(AT_FDCWD, b) && fails(0) ? -1 : real(a, b); }
int renameat(int f, const char *a, int t, const char *b) { REAL(renameat); return is_named_below(t, b) && fails(0) ? -1 : real(f, a, t, b); }
int unlink(const char *a) { REAL(unlink); return is_named_below(AT_FDCWD, a) && fails(0) ? -1 : real(a); }
int unlinkat(int f, const char *a, int flags) { REAL(unlinkat); return is_named_below(f, a) && fails(0) ? -1 : real(f, a, flags); }
int mkdir(const char *a, mode_t m) { REAL(mkdir); return is_named_below(AT_FDCWD, a) && fails(1) ? -1 : real(a, m); }
