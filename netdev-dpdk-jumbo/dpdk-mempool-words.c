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

#include <config.h>

#include "dpdk-mempool-words.h"

#include <rte_config.h>

#include "dpdk-driver.h"
#include "dpdk-frame.h"
#include "dpdk-mempool-layout.h"
#include "netdev-dpdk-compat.h"
#include "openvswitch/dynamic-string.h"
#include "svec.h"
#include "util.h"

const struct mempool_word_key mempool_change_keys[MEMPOOL_N_CHANGE_WORDS] = {
    [MEMPOOL_WORD_TYPE] = { "type", MEMPOOL_VALUE_CHOICE, 0, 0, "dpdk vhost" },
    [MEMPOOL_WORD_DRIVER] = { "driver", MEMPOOL_VALUE_DRIVER, 0, 0, NULL },
    [MEMPOOL_WORD_DEVARGS] = { "devargs", MEMPOOL_VALUE_TEXT, 0, 0, NULL },
    [MEMPOOL_WORD_ADD] = { "add", MEMPOOL_VALUE_NUMBER, 0, 1024, NULL },
    [MEMPOOL_WORD_MTU] = { "mtu", MEMPOOL_VALUE_NUMBER, DPDK_MIN_MTU,
                           DPDK_MAX_MTU, NULL },
    [MEMPOOL_WORD_NUMA] = { "numa", MEMPOOL_VALUE_NUMBER, 0,
                            RTE_MAX_NUMA_NODES - 1, NULL },
    [MEMPOOL_WORD_N_RXQ] = { "n_rxq", MEMPOOL_VALUE_NUMBER, 1, 1024, NULL },
    [MEMPOOL_WORD_N_RXQ_DESC] = { "n_rxq_desc", MEMPOOL_VALUE_DESCS, 1,
                                  MEMPOOL_MAX_DESCS, NULL },
    [MEMPOOL_WORD_N_TXQ_DESC] = { "n_txq_desc", MEMPOOL_VALUE_DESCS, 1,
                                  MEMPOOL_MAX_DESCS, NULL },

    [MEMPOOL_WORD_PORT] = { "port", MEMPOOL_VALUE_TEXT, 0, 0, NULL },
    [MEMPOOL_WORD_PMDS] = { "pmds", MEMPOOL_VALUE_NUMBER, 1, 1024, NULL },
    [MEMPOOL_WORD_FORMAT] = { "format", MEMPOOL_VALUE_CHOICE, 0, 0, "json" },
};

/* Returns the number that 'values' have for 'key', or 'default_number' if it
 * wasn't given. */
int
mempool_words_number(const struct mempool_word_value values[], int key,
                     int default_number)
{
    return values[key].text ? values[key].number : default_number;
}

/* Returns true if 'values' have 'text' for 'key'. */
bool
mempool_words_is(const struct mempool_word_value values[], int key,
                 const char *text)
{
    return values[key].text && !strcmp(values[key].text, text);
}

/* Frees the 'n_keys' values in 'values'. */
void
mempool_words_clear(struct mempool_word_value values[], size_t n_keys)
{
    for (size_t i = 0; i < n_keys; i++) {
        free(values[i].text);
        values[i].text = NULL;
    }
}

static char *
unknown_key(const char *word, const struct mempool_word_key keys[],
            size_t n_keys)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_format(&s, "%s: unknown key, expected one of", word);
    for (size_t i = 0; i < n_keys; i++) {
        ds_put_format(&s, " %s,", keys[i].name);
    }
    ds_chomp(&s, ',');
    return ds_steal_cstr(&s);
}

static bool
is_choice(const char *text, const char *choices)
{
    struct svec words = SVEC_EMPTY_INITIALIZER;
    bool found;

    svec_parse_words(&words, choices);
    found = svec_contains_unsorted(&words, text);
    svec_destroy(&words);
    return found;
}

/* Checks whether 'value' is valid for 'key', and stores its number if it is to
 * be one.  Returns NULL if it is valid, otherwise an error message that the
 * caller must free. */
static char *
check_value(const struct mempool_word_key *key,
            struct mempool_word_value *value, const char *word)
{
    switch (key->type) {
    case MEMPOOL_VALUE_TEXT:
        break;
    case MEMPOOL_VALUE_CHOICE:
        if (!is_choice(value->text, key->choices)) {
            return xasprintf("%s: not one of these: %s", word, key->choices);
        }
        break;
    case MEMPOOL_VALUE_DRIVER:
        if (!dpdk_driver_exists(value->text)) {
            return xasprintf("%s: not a driver of DPDK 22.11 to 25.11; an "
                             "interface shows its own in status:driver_name",
                             word);
        }
        break;
    case MEMPOOL_VALUE_NUMBER:
    case MEMPOOL_VALUE_DESCS:
        if (!str_to_int(value->text, 10, &value->number)
            || value->number < key->min || value->number > key->max) {
            return xasprintf("%s: not a number from %d to %d", word, key->min,
                             key->max);
        }
        if (key->type == MEMPOOL_VALUE_DESCS && !is_pow2(value->number)) {
            return xasprintf("%s: not a power of 2, so Open vSwitch would "
                             "use %d", word, MEMPOOL_DEFAULT_DESCS);
        }
        break;
    }
    return NULL;
}

/* Parses 'words', of the form KEY=VALUE with one of the 'n_keys' in 'keys',
 * into 'values', one for each key.  These must be zeroed before the first
 * call, keep what earlier calls parsed, and must be freed by the caller with
 * mempool_words_clear(), after an error, too.  Returns NULL if successful,
 * otherwise an error message that the caller must free. */
char *
mempool_words_parse(const char *const words[], size_t n,
                    const struct mempool_word_key keys[], size_t n_keys,
                    struct mempool_word_value values[])
{
    for (size_t i = 0; i < n; i++) {
        const char *text = strchr(words[i], '=');
        size_t len = text ? text - words[i] : 0;
        char *error;
        size_t k;

        if (!len) {
            return xasprintf("%s: not of the form key=value", words[i]);
        }
        for (k = 0; k < n_keys; k++) {
            if (!strncmp(words[i], keys[k].name, len) && !keys[k].name[len]) {
                break;
            }
        }
        if (k >= n_keys) {
            return unknown_key(words[i], keys, n_keys);
        }
        if (values[k].text) {
            return xasprintf("%s: duplicate key %s, already %s", words[i],
                             keys[k].name, values[k].text);
        }
        values[k].text = xstrdup(text + 1);
        error = check_value(&keys[k], &values[k], words[i]);
        if (error) {
            return error;
        }
    }
    return NULL;
}

/* Changes 'needs' as 'values', those of the keys of ports, say.  These are the
 * needs of a new port, or of one that has a transmit queue for each of
 * 'n_threads_now' threads, of which there will be 'n_threads'. */
void
mempool_words_to_needs(const struct mempool_word_value values[],
                       struct mempool_needs *needs, unsigned int n_threads_now,
                       unsigned int n_threads,
                       mempool_set_buffers_func *set_buffers)
{
    bool new = !needs->mtu;
    bool vhost = (new ? mempool_words_is(values, MEMPOOL_WORD_TYPE, "vhost")
                  : !needs->rx_descs);

    if (new) {
        needs->n_rxq = 1;
        needs->n_txq = n_threads_now;
        needs->rx_descs = MEMPOOL_DEFAULT_DESCS;
        needs->tx_descs = n_threads_now * MEMPOOL_DEFAULT_DESCS;
    }
    if (vhost) {
        if (new) {
            needs->old_n_rxq = 1;
            needs->old_rx_descs = needs->old_tx_descs = MEMPOOL_DEFAULT_DESCS;
        }
        needs->n_rxq = needs->rx_descs = needs->n_txq = needs->tx_descs = 0;
    } else {
        uint64_t n_rxq_desc = mempool_words_number(
            values, MEMPOOL_WORD_N_RXQ_DESC, needs->rx_descs / needs->n_rxq);
        uint64_t rx_descs = needs->rx_descs;
        uint64_t n_txq_desc = mempool_words_number(
            values, MEMPOOL_WORD_N_TXQ_DESC, needs->tx_descs / needs->n_txq);

        if (needs->n_txq == n_threads_now) {
            needs->n_txq = n_threads;
        }
        needs->n_rxq = mempool_words_number(values, MEMPOOL_WORD_N_RXQ,
                                            needs->n_rxq);
        needs->rx_descs = needs->n_rxq * n_rxq_desc;
        needs->rx_filled = needs->rx_filled * needs->rx_descs / rx_descs;
        needs->tx_descs = needs->n_txq * n_txq_desc;
        needs->old_n_rxq = needs->n_rxq;
        needs->old_rx_descs = needs->rx_descs;
        needs->old_tx_descs = n_threads * n_txq_desc;
    }
    if (new) {
        dpdk_driver_apply(vhost ? NULL : values[MEMPOOL_WORD_DRIVER].text,
                          values[MEMPOOL_WORD_DEVARGS].text, needs);
    }
    needs->numa_id = mempool_words_number(values, MEMPOOL_WORD_NUMA,
                                          needs->numa_id);
    needs->mtu = mempool_words_number(values, MEMPOOL_WORD_MTU,
                                      new ? ETH_PAYLOAD_MAX : needs->mtu);
    set_buffers(needs);
}
