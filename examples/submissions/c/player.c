/* A player in C: a JSON message to a line, on standard input and output.
 *
 * It has the host list the legal actions, so that it needs no rules, and takes the one that gains
 * most: the fish of the tile that it leaves, and of the one that it goes to. It makes no tree of
 * a message, but walks through the text, value by value.
 */

#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON: each function takes the place where a value begins, or blanks before it ---- */

static const char *skip_blanks(const char *at) {
    return at + strspn(at, " \t\r\n");
}

/* The place behind a string. */
static const char *skip_string(const char *at) {
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1]) at++;
    return *at ? at + 1 : at;
}

/* The place behind a value; depth is counted, so that nothing calls itself. */
static const char *skip_value(const char *at) {
    int depth = 0;
    do {
        at = skip_blanks(at);
        if (*at == '"') at = skip_string(at);
        else if (*at == '{' || *at == '[') depth++, at++;
        else if (*at == '}' || *at == ']') depth--, at++;
        else if (*at == ',' || *at == ':') at++;
        else at += strcspn(at, "{}[],:\" \t\r\n");
    } while (*at && depth > 0);
    return at;
}

/* Whether a string is this text, which has only plain letters; \u0061 is one way to write an a. */
static bool is_text(const char *at, const char *text) {
    if (*at != '"') return false;
    for (at++; *at && *at != '"'; text++) {
        unsigned letter = (unsigned char)*at++;
        if (letter == '\\' && *at == 'u') {
            if (sscanf(at + 1, "%4x", &letter) != 1) return false;
            at += 5;
        }
        if (letter != (unsigned char)*text) return false;
    }
    return *text == '\0';
}

/* The value that a key has in an object; NULL if it has none. */
static const char *get(const char *object, const char *key) {
    if (!object || *(object = skip_blanks(object)) != '{') return NULL;
    for (const char *at = skip_blanks(object + 1); *at == '"';) {
        bool is_it = is_text(at, key);
        at = skip_blanks(skip_blanks(skip_string(at)) + 1); /* behind the colon */
        if (is_it) return at;
        at = skip_blanks(skip_value(at));
        if (*at == ',') at = skip_blanks(at + 1);
    }
    return NULL;
}

/* The first element of an array, or the one behind another; NULL if there is none. */
static const char *first(const char *array) {
    if (!array || *array != '[') return NULL;
    array = skip_blanks(array + 1);
    return *array && *array != ']' ? array : NULL;
}

static const char *next(const char *element) {
    element = skip_blanks(skip_value(element));
    return *element == ',' ? skip_blanks(element + 1) : NULL;
}

static const char *element(const char *array, long index) {
    const char *at = first(array);
    while (at && index-- > 0) at = next(at);
    return at;
}

/* ---- The choice ---- */

/* The fish on a tile, whose position is an array of row and column. */
static long fish_at(const char *board, const char *position) {
    const char *row = first(position), *column = element(position, 1);
    if (!row || !column) return 0;
    const char *fish = element(element(board, strtol(row, NULL, 10)), strtol(column, NULL, 10));
    return fish ? strtol(fish, NULL, 10) : 0;
}

/* The legal action that gains most; the first of equals. */
static const char *choose(const char *params) {
    const char *board = get(get(params, "state"), "board"), *best = NULL;
    long most = -1;
    for (const char *at = first(get(params, "legal_actions")); at; at = next(at)) {
        bool is_move = *first(at) == '[';
        long worth = is_move ? fish_at(board, first(at)) + fish_at(board, element(at, 1))
                             : fish_at(board, at);
        if (worth > most) most = worth, best = at;
    }
    return best;
}

/* ---- The replies ---- */

static void print_value(const char *at) {
    fwrite(at, 1, (size_t)(skip_value(at) - at), stdout);
}

static void answer(const char *method, const char *params) {
    const char *action = NULL;
    if (is_text(method, "hello")) {
        printf("\"result\": {\"legal_actions\": true}");
    } else if (is_text(method, "place") || is_text(method, "move")) {
        if ((action = choose(params))) {
            printf("\"result\": ");
            print_value(action);
        } else {
            printf("\"error\": {\"code\": 1, \"message\": \"no legal actions were listed\"}");
        }
    } else if (is_text(method, "tournament_start") || is_text(method, "game_start") ||
               is_text(method, "tournament_end")) {
        printf("\"result\": true");
    } else {
        printf("\"error\": {\"code\": -32601, \"message\": \"no such method\"}");
    }
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        const char *id = get(line, "id"), *method = get(line, "method");
        if (!id || !method) continue; /* a notification wants no reply */
        printf("{\"jsonrpc\": \"2.0\", \"id\": ");
        print_value(id);
        printf(", ");
        answer(method, get(line, "params"));
        printf("}\n");
        fflush(stdout); /* else it would wait in a buffer, and we for the next request */
    }
    free(line);
    return 0;
}
