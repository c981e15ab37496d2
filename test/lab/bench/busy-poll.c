// Keeps wrk awake between answers: a virtual CPU that went idle costs the server several microseconds a wake-up.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/epoll.h>

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout) {
  static int (*real)(int, struct epoll_event *, int, int);
  if (!real) real = dlsym(RTLD_NEXT, "epoll_wait");
  (void)timeout;
  return real(epoll, events, most, 0);
}
