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

#ifndef JUMBO_WORDS_H
#define JUMBO_WORDS_H 1

/* What users describe in words of the form KEY=VALUE: ports that don't exist
 * yet, changes, hosts. */

#include <stdbool.h>
#include <stddef.h>

struct jumbo_needs;

/* What a value may be. */
enum jumbo_key_type {
    JUMBO_TEXT,
    JUMBO_CHOICE,               /* One of a few words. */
    JUMBO_DRIVER,               /* The name of a driver of DPDK. */
    JUMBO_NUMBER,
    JUMBO_DESCS,                /* A number of descriptors: a power of 2. */
};

struct jumbo_key {
    const char *name;
    enum jumbo_key_type type;
    int min, max;               /* Of numbers. */
    const char *choices;        /* Separated by spaces. */
};

struct jumbo_value {
    char *text;                 /* NULL if it wasn't given. */
    int number;                 /* If the key's type is a number. */
};

/* The keys of new ports, and then the others of a change. */
enum {
    JUMBO_WORD_TYPE, JUMBO_WORD_DRIVER, JUMBO_WORD_DEVARGS, JUMBO_WORD_ADD,
    JUMBO_WORD_MTU, JUMBO_WORD_NUMA, JUMBO_WORD_N_RXQ, JUMBO_WORD_N_RXQ_DESC,
    JUMBO_WORD_N_TXQ_DESC,
    JUMBO_N_PORT_WORDS,

    JUMBO_WORD_PORT = JUMBO_N_PORT_WORDS, JUMBO_WORD_PMDS, JUMBO_WORD_FORMAT,
    JUMBO_N_CHANGE_WORDS
};
extern const struct jumbo_key jumbo_change_keys[JUMBO_N_CHANGE_WORDS];

char *jumbo_words_parse(const char *const words[], size_t n,
                        const struct jumbo_key keys[], size_t n_keys,
                        struct jumbo_value values[]);
int jumbo_words_number(const struct jumbo_value values[], int key,
                       int default_number);
bool jumbo_words_is(const struct jumbo_value values[], int key,
                    const char *text);
void jumbo_words_clear(struct jumbo_value values[], size_t n_keys);

/* Sets the buffers in 'needs', where all else is set, with
 * jumbo_needs_set_buffers(), as the user configured them. */
typedef void jumbo_set_buffers(struct jumbo_needs *needs);

void jumbo_words_to_needs(const struct jumbo_value values[],
                          struct jumbo_needs *, unsigned int n_threads_now,
                          unsigned int n_threads, jumbo_set_buffers *);

#endif /* jumbo-words.h */
