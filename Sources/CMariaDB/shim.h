#ifndef TRUEUP_CMARIADB_SHIM_H
#define TRUEUP_CMARIADB_SHIM_H

#include <mysql.h>
#include <stdlib.h>
#include <string.h>

/*
 * Swift cannot call variadic C functions, and an array of MYSQL_BIND with the buffers that it points
 * to must stay where it is for several calls. These wrappers do that, and nothing else.
 */

static inline int shim_set_text(MYSQL *handle, enum mysql_option option, const char *value) {
    return mysql_optionsv(handle, option, (const void *)value);
}

static inline int shim_set_number(MYSQL *handle, enum mysql_option option, unsigned int value) {
    return mysql_optionsv(handle, option, (const void *)&value);
}

static inline int shim_set_flag(MYSQL *handle, enum mysql_option option, my_bool value) {
    return mysql_optionsv(handle, option, (const void *)&value);
}

/* Calls that wait return to their caller, which polls the socket. */
static inline int shim_wait_outside(MYSQL *handle) {
    return mysql_optionsv(handle, MYSQL_OPT_NONBLOCK, NULL);
}

static inline void shim_measure_columns(MYSQL_STMT *statement) {
    my_bool yes = 1;
    mysql_stmt_attr_set(statement, STMT_ATTR_UPDATE_MAX_LENGTH, &yes);
}

/* The values of a statement, or the buffers for one row of its result. */
typedef struct shim_values {
    unsigned int count;
    MYSQL_BIND *binds;
    unsigned long *lengths;
    my_bool *nulls;
    char **buffers;
} shim_values;

static inline void shim_free_values(shim_values *values) {
    if (!values) return;
    if (values->buffers)
        for (unsigned int i = 0; i < values->count; i++) free(values->buffers[i]);
    free(values->binds);
    free(values->lengths);
    free(values->nulls);
    free(values->buffers);
    free(values);
}

static inline shim_values *shim_make_values(unsigned int count) {
    shim_values *values = (shim_values *)calloc(1, sizeof *values);
    if (!values) return NULL;
    values->count = count;
    values->binds = (MYSQL_BIND *)calloc(count + 1, sizeof *values->binds);
    values->lengths = (unsigned long *)calloc(count + 1, sizeof *values->lengths);
    values->nulls = (my_bool *)calloc(count + 1, sizeof *values->nulls);
    values->buffers = (char **)calloc(count + 1, sizeof *values->buffers);
    if (values->binds && values->lengths && values->nulls && values->buffers) return values;
    shim_free_values(values);
    return NULL;
}

static inline int shim_put(
    shim_values *values, unsigned int i, enum enum_field_types type, const void *bytes, unsigned long length) {
    char *copy = (char *)malloc(length + 1);
    if (!copy) return 0;
    if (length) memcpy(copy, bytes, length);
    values->buffers[i] = copy;
    values->lengths[i] = length;
    values->binds[i].buffer_type = type;
    values->binds[i].buffer = copy;
    values->binds[i].buffer_length = length;
    values->binds[i].length = &values->lengths[i];
    return 1;
}

static inline int shim_put_text(
    shim_values *values, unsigned int i, const char *bytes, unsigned long length) {
    return shim_put(values, i, MYSQL_TYPE_STRING, bytes, length);
}

static inline int shim_put_number(shim_values *values, unsigned int i, long long number) {
    return shim_put(values, i, MYSQL_TYPE_LONGLONG, &number, sizeof number);
}

static inline void shim_put_null(shim_values *values, unsigned int i) {
    values->binds[i].buffer_type = MYSQL_TYPE_NULL;
}

static inline int shim_bind_parameters(MYSQL_STMT *statement, shim_values *values) {
    return mysql_stmt_bind_param(statement, values->binds);
}

/* Buffers for the stored result of a statement, each as long as the longest value of its column. */
static inline shim_values *shim_bind_result(MYSQL_STMT *statement) {
    unsigned int count = mysql_stmt_field_count(statement);
    MYSQL_RES *fields = mysql_stmt_result_metadata(statement);
    shim_values *values = fields ? shim_make_values(count) : NULL;
    for (unsigned int i = 0; values && i < count; i++) {
        MYSQL_FIELD *field = mysql_fetch_field_direct(fields, i);
        unsigned long length = field && field->max_length > 64 ? field->max_length : 64;
        values->buffers[i] = (char *)malloc(length + 1);
        if (!values->buffers[i]) {
            shim_free_values(values);
            values = NULL;
            break;
        }
        values->binds[i].buffer_type = MYSQL_TYPE_STRING;
        values->binds[i].buffer = values->buffers[i];
        values->binds[i].buffer_length = length;
        values->binds[i].length = &values->lengths[i];
        values->binds[i].is_null = &values->nulls[i];
    }
    if (fields) mysql_free_result(fields);
    if (values && mysql_stmt_bind_result(statement, values->binds)) {
        shim_free_values(values);
        values = NULL;
    }
    return values;
}

static inline int shim_is_null(const shim_values *values, unsigned int i) { return values->nulls[i] != 0; }

static inline const char *shim_bytes(const shim_values *values, unsigned int i) { return values->buffers[i]; }

static inline unsigned long shim_length(const shim_values *values, unsigned int i) {
    return values->lengths[i] < values->binds[i].buffer_length ? values->lengths[i]
                                                               : values->binds[i].buffer_length;
}

#endif
