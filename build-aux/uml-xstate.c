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

/* A library to preload into User-mode Linux 6.1.
 *
 * That gives the kernel back what it saved of a process's extended state with
 * a buffer of the size that it knows, 2,696 bytes.  On a CPU with more, as of
 * AMX, the kernel wants all, and guests would end while they boot.  What such
 * a buffer doesn't have stays as it is. */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

long
ptrace(enum __ptrace_request request, ...)
{
    static long (*next)(enum __ptrace_request, ...);
    /* Larger than any that CPUs have today. */
    static __thread char state[32768] __attribute__((aligned(64)));
    struct iovec all = { state, sizeof state };
    struct iovec *part;
    va_list args;
    long result;
    pid_t pid;
    void *what;

    va_start(args, request);
    pid = va_arg(args, pid_t);
    what = va_arg(args, void *);
    part = va_arg(args, struct iovec *);
    va_end(args);

    if (!next) {
        next = (long (*)(enum __ptrace_request, ...)) dlsym(RTLD_NEXT,
                                                            "ptrace");
    }
    result = next(request, pid, what, part);
    if (result != -1 || errno != EFAULT || request != PTRACE_SETREGSET
        || what != (void *) NT_X86_XSTATE
        || next(PTRACE_GETREGSET, pid, what, &all)
        || part->iov_len > all.iov_len) {
        return result;
    }
    memcpy(state, part->iov_base, part->iov_len);
    return next(PTRACE_SETREGSET, pid, what, &all);
}
