/*
 * Copyright (c) 2026 netdev-dpdk-jumbo developers.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

/* A library to preload, for tests/failures, which generates functions.h: it
 * has a line "FUNCTION(index, name, returned)" for each function whose calls
 * are counted, and of which one fails, that is, returns 'returned', or kills
 * the process.
 *
 * Needs GCC: only that can pass arguments on without knowing them. */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define MAX_SITES 600
#define MAX_ARGUMENT_BYTES 64   /* On the stack. */

/* A place that calls a function. */
struct site {
    int64_t function;           /* Its index. */
    int64_t caller;             /* The address to which it returns, or 0. */
    int64_t n;                  /* Which call fails, or, if negative, kills the
                                 * process; or how many calls there were. */
};

/* The file $FAILURES, shared with the test: the call that fails, and all
 * places that called a function. */
static struct shared {
    struct site fails;
    struct site sites[MAX_SITES];
} *shared;

__attribute__((constructor))
static void
map(void)
{
    const char *name = getenv("FAILURES");
    int fd = name ? open(name, O_RDWR) : -1;
    void *memory = fd < 0 ? MAP_FAILED
                   : mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                          MAP_SHARED, fd, 0);

    shared = memory == MAP_FAILED ? NULL : memory;
}

/* Returns true if this call of 'function' by 'caller' is to fail. */
static int
fails(int64_t function, int64_t caller)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const struct site *f = &shared->fails;
    int retval = 0;

    if (!shared) {
        return 0;
    }
    pthread_mutex_lock(&mutex);
    for (struct site *s = shared->sites; s < &shared->sites[MAX_SITES]; s++) {
        if (!s->caller) {
            s->function = function;
            s->caller = caller;
        }
        if (s->function == function && s->caller == caller) {
            s->n++;
            if (f->function == function && f->caller == caller) {
                if (f->n == -s->n) {
                    raise(SIGKILL);
                }
                retval = f->n == s->n;
            }
            break;
        }
    }
    pthread_mutex_unlock(&mutex);
    return retval;
}

#define FUNCTION(INDEX, NAME, RETURNED)                                     \
    void *NAME(void)                                                        \
    {                                                                       \
        static void (*real)();                                              \
        void *arguments = __builtin_apply_args();                           \
                                                                            \
        if (!real) {                                                        \
            real = (void (*)()) dlsym(RTLD_NEXT, #NAME);                    \
        }                                                                   \
        if (fails(INDEX, (intptr_t) __builtin_return_address(0))) {         \
            return (void *) (intptr_t) RETURNED;                            \
        }                                                                   \
        __builtin_return(__builtin_apply(real, arguments,                   \
                                         MAX_ARGUMENT_BYTES));              \
    }
#include "functions.h"
