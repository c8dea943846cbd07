#ifndef TRUEUP_CPOSTGRES_SHIM_H
#define TRUEUP_CPOSTGRES_SHIM_H

#include <libpq-fe.h>

/*
 * PG_DIAG_* are character constants, which Swift does not import as numbers that fit the call.
 * Notices of a server would else be printed to standard error, by the library itself.
 */

static inline const char *shim_sql_state(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}

static inline const char *shim_primary_message(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}

static inline void shim_drop_notice(void *nobody, const PGresult *notice) {
    (void)nobody;
    (void)notice;
}

static inline void shim_keep_quiet(PGconn *connection) {
    PQsetNoticeReceiver(connection, shim_drop_notice, NULL);
}

/* The words of a failure are dropped: the statement is given up either way. */
static inline void shim_cancel(PGcancel *request) {
    char words[256];
    (void)PQcancel(request, words, sizeof words);
}

#endif
