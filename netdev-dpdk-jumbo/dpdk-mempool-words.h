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

#ifndef DPDK_MEMPOOL_WORDS_H
#define DPDK_MEMPOOL_WORDS_H 1

/* What users describe in words of the form KEY=VALUE: ports that don't exist
 * yet, changes, hosts. */

#include <stdbool.h>
#include <stddef.h>

struct mempool_needs;

/* What a value may be. */
enum mempool_word_type {
    MEMPOOL_VALUE_TEXT,
    MEMPOOL_VALUE_CHOICE,       /* One of a few words. */
    MEMPOOL_VALUE_DRIVER,       /* The name of a driver of DPDK. */
    MEMPOOL_VALUE_NUMBER,
    MEMPOOL_VALUE_DESCS,        /* A number of descriptors: a power of 2. */
};

struct mempool_word_key {
    const char *name;
    enum mempool_word_type type;
    int min, max;               /* Of numbers. */
    const char *choices;        /* Separated by spaces. */
};

struct mempool_word_value {
    char *text;                 /* NULL if it wasn't given. */
    int number;                 /* If the key's type is a number. */
};

/* The keys of new ports, and then the others of a change. */
enum {
    MEMPOOL_WORD_TYPE, MEMPOOL_WORD_DRIVER, MEMPOOL_WORD_DEVARGS,
    MEMPOOL_WORD_ADD, MEMPOOL_WORD_MTU, MEMPOOL_WORD_NUMA, MEMPOOL_WORD_N_RXQ,
    MEMPOOL_WORD_N_RXQ_DESC, MEMPOOL_WORD_N_TXQ_DESC,
    MEMPOOL_N_PORT_WORDS,

    MEMPOOL_WORD_PORT = MEMPOOL_N_PORT_WORDS, MEMPOOL_WORD_PMDS,
    MEMPOOL_WORD_FORMAT,
    MEMPOOL_N_CHANGE_WORDS
};
extern const struct mempool_word_key
    mempool_change_keys[MEMPOOL_N_CHANGE_WORDS];

char *mempool_words_parse(const char *const words[], size_t n,
                          const struct mempool_word_key keys[], size_t n_keys,
                          struct mempool_word_value values[]);
int mempool_words_number(const struct mempool_word_value values[], int key,
                         int default_number);
bool mempool_words_is(const struct mempool_word_value values[], int key,
                      const char *text);
void mempool_words_clear(struct mempool_word_value values[], size_t n_keys);

/* Sets the buffers in 'needs', where all else is set, with
 * mempool_needs_set_buffers(), as the user configured them. */
typedef void mempool_set_buffers_func(struct mempool_needs *needs);

void mempool_words_to_needs(const struct mempool_word_value values[],
                            struct mempool_needs *, unsigned int n_threads_now,
                            unsigned int n_threads,
                            mempool_set_buffers_func *);

#endif /* dpdk-mempool-words.h */
