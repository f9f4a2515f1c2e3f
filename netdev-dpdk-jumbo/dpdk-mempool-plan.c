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

#include "dpdk-mempool-plan.h"

#include "dpdk-mempool-info.h"
#include "dpdk-mempool-show.h"
#include "dpdk-mempool.h"
#include "unixctl.h"
#include "util.h"

/* Stores in '*plan' the change that 'values' describe.  Returns NULL if
 * successful, otherwise an error message that the caller must free. */
static char *
plan_change(const struct mempool_word_value values[],
            mempool_set_buffers_func *set_buffers, struct mempool_plan *plan)
{
    unsigned int n_threads = mempool_n_threads();

    *plan = (struct mempool_plan) {
        .port = values[MEMPOOL_WORD_PORT].text,
        .n_threads = mempool_words_number(values, MEMPOOL_WORD_PMDS,
                                          MAX(n_threads, 2) - 1) + 1,
    };
    if (!plan->port) {
        plan->n_add = mempool_words_number(values, MEMPOOL_WORD_ADD, 1);
    } else if (values[MEMPOOL_WORD_ADD].text || values[MEMPOOL_WORD_TYPE].text
               || values[MEMPOOL_WORD_DRIVER].text
               || values[MEMPOOL_WORD_DEVARGS].text) {
        return xasprintf("\"port\" cannot be combined with \"add\", "
                         "\"type\", \"driver\" or \"devargs\"");
    } else if (!mempool_port_get_needs(plan->port, &plan->needs)) {
        return xasprintf("there is no DPDK port \"%s\"", plan->port);
    }
    mempool_words_to_needs(values, &plan->needs, n_threads, plan->n_threads,
                           set_buffers);
    return NULL;
}

/* "netdev-dpdk/mempool-plan [KEY=VALUE]...". */
void
mempool_plan_change(struct unixctl_conn *conn, int argc, const char *argv[],
                    mempool_set_buffers_func *set_buffers)
{
    struct mempool_word_value values[MEMPOOL_N_CHANGE_WORDS] = { { NULL, 0 } };
    struct mempool_plan plan;
    char *error;

    error = mempool_words_parse(&argv[1], argc - 1, mempool_change_keys,
                                MEMPOOL_N_CHANGE_WORDS, values);
    if (!error) {
        error = plan_change(values, set_buffers, &plan);
    }
    if (error) {
        unixctl_command_reply_error(conn, error);
        free(error);
    } else {
        mempool_show_plan(conn, &plan, values[MEMPOOL_WORD_FORMAT].text);
    }
    mempool_words_clear(values, MEMPOOL_N_CHANGE_WORDS);
}
