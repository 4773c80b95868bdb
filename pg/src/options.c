#include "compat.h"

#include "options.h"

#include "colonnade_encoder.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#define FORMAT_NAME "colonnade"

/* PROTOCOL §2. */
#define DEFAULT_CHUNK_ROWS 65536
#define DEFAULT_CHUNK_BYTES (4 << 20)
#define DEFAULT_MESSAGE_BYTES (1 << 30)
#define MIN_MESSAGE_BYTES 1024
#define MAX_MESSAGE_BYTES INT64CONST(2147483584)

#define MAX_DECIMAL_PRECISION 76

/* Options of core's COPY TO and COPY FROM, up to 18, that define how a value is written as text. */
static const char *const core_options[] = {
    "freeze",     "delimiter",      "null",       "header",   "quote",               "escape",
    "force_quote", "force_not_null", "force_null", "encoding", "convert_selectively", "default",
    "on_error",   "log_verbosity",  "reject_limit",
};

typedef enum Option {
    OPTION_FORMAT,
    OPTION_VERSION,
    OPTION_COMPRESSION,
    OPTION_ENCODINGS,
    OPTION_CODECS,
    OPTION_CHUNK_ROWS,
    OPTION_CHUNK_BYTES,
    OPTION_MAX_MESSAGE_BYTES,
    OPTION_NUMERIC,
    OPTION_AS_TEXT,
    OPTION_PARALLEL,
    OPTION_COUNT
} Option;

static const char *const option_names[OPTION_COUNT] = {
    "format",     "version",           "compression", "encodings", "codecs",   "chunk_rows",
    "chunk_bytes", "max_message_bytes", "numeric",     "as_text",   "parallel",
};

bool
options_name_our_format(const CopyStmt *statement)
{
    ListCell *cell;

    foreach (cell, statement->options) {
        DefElem *option = lfirst_node(DefElem, cell);

        if (strcmp(option->defname, "format") == 0 && option->arg != NULL && IsA(option->arg, String) &&
            pg_strcasecmp(defGetString(option), FORMAT_NAME) == 0)
            return true;
    }
    return false;
}

static void
refuse_value(ParseState *state, DefElem *option, const char *value, const char *expected)
{
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("COPY option \"%s\" cannot be \"%s\"; it must be %s", option->defname, value, expected),
            parser_errposition(state, option->location));
}

static void
refuse_option(ParseState *state, DefElem *option)
{
    for (int i = 0; i < (int) lengthof(core_options); i++)
        if (pg_strcasecmp(option->defname, core_options[i]) == 0)
            ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("COPY option \"%s\" is not available with FORMAT " FORMAT_NAME, option->defname),
                    errdetail("It says how values are written as text; this format has columns."),
                    parser_errposition(state, option->location));
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("option \"%s\" not recognized", option->defname),
            errhint("The options of FORMAT " FORMAT_NAME " are version, compression, encodings, codecs, chunk_rows, "
                    "chunk_bytes, max_message_bytes, numeric, as_text and parallel."),
            parser_errposition(state, option->location));
}

/* A word, a number or a string. */
static char *
value_of(ParseState *state, DefElem *option)
{
    if (option->arg == NULL || IsA(option->arg, A_Star) || IsA(option->arg, List))
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("COPY option \"%s\" requires one value", option->defname),
                errhint("Write lists as one string, with commas."), parser_errposition(state, option->location));
    return defGetString(option);
}

static int64
number_of(ParseState *state, DefElem *option, int64 least, int64 most)
{
    char *value = value_of(state, option);
    char *end;
    int64 number;

    errno = 0;
    number = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0 || number < least || number > most)
        refuse_value(state, option, value,
                     psprintf("a number from " INT64_FORMAT " to " INT64_FORMAT, least, most));
    return number;
}

static const char *
compression_of(ParseState *state, DefElem *option)
{
    const char *value = value_of(state, option);
    ColonnadeError error;

    if (colonnade_check_compression(value, &error) != COLONNADE_OK)
        refuse_value(state, option, value,
                     "auto, plain, light or light+fsst, the last three also followed by +lz4 or +zstd-1 to +zstd-22");
    return value;
}

/* Reads a number up to `most`, and skips spaces after it. */
static bool
scan_number(const char **text, long most, int *number)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(*text, &end, 10);
    if (end == *text || errno != 0 || value < 0 || value > most)
        return false;
    *number = (int) value;
    *text = end + strspn(end, " ");
    return true;
}

static void
parse_numeric(ParseState *state, DefElem *option, CopyOptions *options)
{
    char *value = value_of(state, option);
    const char *rest = value;

    if (!scan_number(&rest, MAX_DECIMAL_PRECISION, &options->numeric_precision) || options->numeric_precision == 0 ||
        *rest++ != ',' || !scan_number(&rest, options->numeric_precision, &options->numeric_scale) || *rest != '\0')
        refuse_value(state, option, value, "precision and scale such as '38,10', at most 76 digits");
}

static List *
names_of(ParseState *state, DefElem *option)
{
    char *value = value_of(state, option);
    List *names;

    /* The names point into the copied string, which is therefore not freed. */
    if (!SplitIdentifierString(pstrdup(value), ',', &names))
        refuse_value(state, option, value, "column names separated by commas, quoted as in SQL");
    return names;
}

static ParallelMode
parallel_of(ParseState *state, DefElem *option)
{
    const char *value = value_of(state, option);

    if (pg_strcasecmp(value, "auto") == 0)
        return PARALLEL_AUTO;
    if (pg_strcasecmp(value, "on") == 0 || pg_strcasecmp(value, "true") == 0)
        return PARALLEL_ON;
    if (pg_strcasecmp(value, "off") != 0 && pg_strcasecmp(value, "false") != 0)
        refuse_value(state, option, value, "auto, on or off");
    return PARALLEL_OFF;
}

static void
refuse_repetition(ParseState *state, DefElem *option, bool *seen)
{
    if (*seen)
        ereport(ERROR, errcode(ERRCODE_SYNTAX_ERROR),
                errmsg("conflicting or redundant options: \"%s\" is given twice", option->defname),
                parser_errposition(state, option->location));
    *seen = true;
}

List *
options_for_core(const CopyStmt *statement, const char *query_string)
{
    ParseState *state = make_parsestate(NULL);
    List *options = list_make1(makeDefElem("format", (Node *) makeString("text"), -1));
    bool has_format = false;
    bool has_version = false;
    bool has_freeze = false;
    ListCell *cell;

    state->p_sourcetext = query_string;
    foreach (cell, statement->options) {
        DefElem *option = lfirst_node(DefElem, cell);

        if (pg_strcasecmp(option->defname, option_names[OPTION_FORMAT]) == 0)
            refuse_repetition(state, option, &has_format);
        else if (pg_strcasecmp(option->defname, option_names[OPTION_VERSION]) == 0) {
            refuse_repetition(state, option, &has_version);
            number_of(state, option, 1, colonnade_format_version());
        } else if (strcmp(option->defname, "freeze") == 0) {
            refuse_repetition(state, option, &has_freeze);
            options = lappend(options, option);
        } else
            ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("COPY option \"%s\" is not available in COPY FROM with FORMAT " FORMAT_NAME, option->defname),
                    errhint("The options are version and freeze."), parser_errposition(state, option->location));
    }
    free_parsestate(state);
    return options;
}

CopyOptions *
options_parse(const CopyStmt *statement, const char *query_string)
{
    ParseState *state = make_parsestate(NULL);
    CopyOptions *options = palloc0(sizeof(CopyOptions));
    bool seen[OPTION_COUNT] = {false};
    ListCell *cell;

    state->p_sourcetext = query_string;
    options->chunk_rows = DEFAULT_CHUNK_ROWS;
    options->chunk_bytes = DEFAULT_CHUNK_BYTES;
    options->max_message_bytes = DEFAULT_MESSAGE_BYTES;

    foreach (cell, statement->options) {
        DefElem *option = lfirst_node(DefElem, cell);
        int which = 0;

        while (which < OPTION_COUNT && pg_strcasecmp(option->defname, option_names[which]) != 0)
            which++;
        if (which == OPTION_COUNT)
            refuse_option(state, option);
        refuse_repetition(state, option, &seen[which]);

        switch ((Option) which) {
            case OPTION_FORMAT:
                break;
            case OPTION_VERSION:
                number_of(state, option, 1, colonnade_format_version());
                break;
            case OPTION_COMPRESSION:
                options->compression = compression_of(state, option);
                break;
            case OPTION_ENCODINGS:
                options->encodings = value_of(state, option);
                break;
            case OPTION_CODECS:
                options->codecs = value_of(state, option);
                break;
            case OPTION_CHUNK_ROWS:
                options->chunk_rows = number_of(state, option, 1, MAX_CHUNK_ROWS);
                break;
            case OPTION_CHUNK_BYTES:
                options->chunk_bytes = number_of(state, option, 1, MAX_MESSAGE_BYTES);
                break;
            case OPTION_MAX_MESSAGE_BYTES:
                options->max_message_bytes = number_of(state, option, MIN_MESSAGE_BYTES, MAX_MESSAGE_BYTES);
                break;
            case OPTION_NUMERIC:
                parse_numeric(state, option, options);
                break;
            case OPTION_AS_TEXT:
                options->as_text = names_of(state, option);
                break;
            case OPTION_PARALLEL:
                options->parallel = parallel_of(state, option);
                break;
            case OPTION_COUNT:
                break;
        }
    }
    free_parsestate(state);
    return options;
}
