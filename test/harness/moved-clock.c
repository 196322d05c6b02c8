/* Moves the wall clock of the process that loads this library by the seconds in a file, and leaves the monotonic clock alone. Built by
 * moved-clock.ts. PostgreSQL reads the clock in signal handlers, so nothing here allocates memory or takes a lock. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t unmoved = 0;
static const volatile int64_t *offset = &unmoved;

__attribute__((constructor)) static void map_offset(void) {
  const char *path = getenv("MOVED_CLOCK_FILE");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) {
    static const char message[] = "moved-clock: MOVED_CLOCK_FILE cannot be read\n";
    (void)!write(STDERR_FILENO, message, sizeof message - 1);
    _exit(1);
  }
  close(file);
  offset = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *offset;
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec precise;
  int result = clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return result;
}

time_t time(time_t *now) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != NULL) *now = precise.tv_sec;
  return precise.tv_sec;
}
