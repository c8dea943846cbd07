// Writes down each SQL statement that a program has finished with, and how often it ran.
//
// Preloaded (LD_PRELOAD) into the real executable, so that nothing in the program knows of it.
//
//   FINISHED_STATEMENTS   file to which a record is appended for each statement: the name of its main
//                         database, the number of its runs and its text, each with a NUL behind it

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

#define SQLITE_STMTSTATUS_RUN 6

static void note(sqlite3_stmt *statement) {
    const char *file = getenv("FINISHED_STATEMENTS");
    const char *(*text_of)(sqlite3_stmt *) = (const char *(*)(sqlite3_stmt *))dlsym(RTLD_DEFAULT, "sqlite3_sql");
    sqlite3 *(*database_of)(sqlite3_stmt *) = (sqlite3 * (*)(sqlite3_stmt *)) dlsym(RTLD_DEFAULT, "sqlite3_db_handle");
    const char *(*name_of)(sqlite3 *, const char *) =
        (const char *(*)(sqlite3 *, const char *))dlsym(RTLD_DEFAULT, "sqlite3_db_filename");
    int (*status_of)(sqlite3_stmt *, int, int) =
        (int (*)(sqlite3_stmt *, int, int))dlsym(RTLD_DEFAULT, "sqlite3_stmt_status");
    if (!file || !text_of || !database_of || !name_of || !status_of) return;
    const char *text = text_of(statement);
    if (!text) return;
    const char *name = name_of(database_of(statement), "main");
    char runs[16];
    snprintf(runs, sizeof runs, "%d", status_of(statement, SQLITE_STMTSTATUS_RUN, 0));
    if (!name) name = "";
    size_t sizes[3] = {strlen(name) + 1, strlen(runs) + 1, strlen(text) + 1};
    char *record = malloc(sizes[0] + sizes[1] + sizes[2]);
    if (!record) return;
    memcpy(record, name, sizes[0]);
    memcpy(record + sizes[0], runs, sizes[1]);
    memcpy(record + sizes[0] + sizes[1], text, sizes[2]);
    int descriptor = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (descriptor >= 0) {
        // One write, so that records of several threads do not mix.
        if (write(descriptor, record, sizes[0] + sizes[1] + sizes[2]) < 0) perror("finished_statements");
        close(descriptor);
    }
    free(record);
}

int sqlite3_finalize(sqlite3_stmt *statement) {
    static int (*next)(sqlite3_stmt *);
    if (!next) next = (int (*)(sqlite3_stmt *))dlsym(RTLD_NEXT, "sqlite3_finalize");
    if (statement) note(statement);
    return next(statement);
}
