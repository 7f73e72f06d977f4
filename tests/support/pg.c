#include "support/pg.h"

#include "support/cmocka.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = 512, URLS_MAX = 32 };

struct support_pg {
    char folder[PATH_SIZE];
    int port;
    pid_t postmaster;
    char *urls[URLS_MAX];
    size_t url_count;
};

static char bin[PATH_SIZE];
static char base[PATH_SIZE]; /* folder of this program, which contains the template */
static pid_t base_owner;

static void become_server_user(void) {
    if (geteuid() != 0)
        return;
    const struct passwd *user = getpwnam("postgres");
    if (user == NULL)
        user = getpwnam("nobody");
    if (user == NULL || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)
        _exit(126);
}

/* Starts a child process whose output is written to a file. Returns its process id; the caller waits for the
 * child. */
static pid_t spawn(const char *log, bool as_server_user, bool ends_with_us, char *const arguments[]) {
    pid_t parent = getpid(), child = fork();
    assert_true(child >= 0);
    if (child != 0)
        return child;
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || null < 0 || dup2(null, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
        _exit(125);
    if (as_server_user)
        become_server_user();
    /* A change of the user clears PR_SET_PDEATHSIG, so it is set only after the change. SIGQUIT is an
     * immediate shutdown. */
    if (ends_with_us && (prctl(PR_SET_PDEATHSIG, SIGQUIT) != 0 || getppid() != parent))
        _exit(124);
    execv(arguments[0], arguments);
    _exit(127);
}

static void print_file(const char *path) {
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    char line[400];
    while (fgets(line, sizeof line, file) != NULL)
        print_error("# %s", line);
    fclose(file);
}

static void run(bool as_server_user, char *const arguments[]) {
    char log[PATH_SIZE + 16];
    snprintf(log, sizeof log, "%s/log", base);
    pid_t child = spawn(log, as_server_user, true, arguments);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        print_file(log);
        fail_msg("%s ended with status %d", arguments[0], status);
    }
}

static void find_binaries(void) {
    glob_t found;
    if (glob("/usr/lib/postgresql/*/bin/postgres", 0, NULL, &found) == 0) {
        const char *last = found.gl_pathv[found.gl_pathc - 1];
        snprintf(bin, sizeof bin, "%.*s", (int)(strrchr(last, '/') - last), last);
        globfree(&found);
        return;
    }
    FILE *config = popen("pg_config --bindir", "re");
    bool good = config != NULL && fgets(bin, sizeof bin, config) != NULL;
    if (config != NULL)
        pclose(config);
    if (!good)
        fail_msg("no PostgreSQL server is installed; tools/install-packages check installs it");
    bin[strcspn(bin, "\n")] = '\0';
}

/* Returns whether the server, which does not run as root, can reach files in the folder. */
static bool is_reachable(const char *folder) {
    char path[PATH_SIZE];
    for (size_t i = 1; i <= strlen(folder); i++) {
        if (folder[i] != '/' && folder[i] != '\0')
            continue;
        snprintf(path, sizeof path, "%.*s", (int)i, folder);
        struct stat status;
        if (stat(path, &status) != 0 || (geteuid() == 0 && (status.st_mode & S_IXOTH) == 0))
            return false;
    }
    return true;
}

static void remove_tree(const char *path) {
    char *const arguments[] = {(char[]){"/bin/rm"}, (char[]){"-rf"}, (char *)(uintptr_t)path, NULL};
    pid_t child = spawn("/dev/null", false, false, arguments);
    int status;
    waitpid(child, &status, 0);
}

static void remove_base(void) {
    if (base[0] != '\0' && base_owner == getpid())
        remove_tree(base);
}

static void chown_to_server(const char *path) {
    if (geteuid() != 0)
        return;
    const struct passwd *user = getpwnam("postgres");
    if (user == NULL)
        user = getpwnam("nobody");
    assert_non_null(user);
    assert_int_equal(chown(path, user->pw_uid, user->pw_gid), 0);
}

static void append(const char *folder, const char *file, const char *text) {
    char path[PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *to = fopen(path, "ae");
    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
}

/* initdb takes most of a second, so it runs once for each program, and the result is copied for each server. */
static void make_template(void) {
    if (base[0] != '\0')
        return;
    find_binaries();
    const char *tmp = getenv("TMPDIR");
    if (tmp != NULL && geteuid() == 0)
        (void)chmod(tmp, 0711); /* the test's own folder, so its mode may be changed */
    snprintf(base, sizeof base, "%s/pg-XXXXXX", tmp != NULL && is_reachable(tmp) ? tmp : "/tmp");
    assert_non_null(mkdtemp(base));
    base_owner = getpid();
    atexit(remove_base);
    assert_int_equal(chmod(base, 0711), 0);
    chown_to_server(base);
    char initdb[PATH_SIZE + 16], data[PATH_SIZE + 16];
    snprintf(initdb, sizeof initdb, "%s/initdb", bin);
    snprintf(data, sizeof data, "%s/template", base);
    char *const arguments[] = {initdb,
                               (char[]){"-D"},
                               data,
                               (char[]){"-U"},
                               (char[]){"turnstone"},
                               (char[]){"-A"},
                               (char[]){"trust"},
                               (char[]){"-E"},
                               (char[]){"UTF8"},
                               (char[]){"--no-locale"},
                               (char[]){"-N"},
                               NULL};
    run(true, arguments);
    append(data, "pg_hba.conf", "");
    char hba[PATH_SIZE + 32];
    snprintf(hba, sizeof hba, "%s/pg_hba.conf", data);
    FILE *file = fopen(hba, "we");
    assert_non_null(file);
    fputs("host all " SUPPORT_PG_LOCKED_USER " 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
          "host replication turnstone 127.0.0.1/32 trust\n",
          file);
    assert_int_equal(fclose(file), 0);
}

/* Returns a port on which no program listens at the moment. */
static int free_port(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void log_path(const struct support_pg *pg, char *ret_path, size_t size) {
    snprintf(ret_path, size, "%s.log", pg->folder);
}

void support_pg_resume(struct support_pg *pg) {
    char program[PATH_SIZE + 16], log[PATH_SIZE + 16], info[128];
    snprintf(program, sizeof program, "%s/postgres", bin);
    log_path(pg, log, sizeof log);
    char *const arguments[] = {program, (char[]){"-D"}, pg->folder, NULL};
    pg->postmaster = spawn(log, true, true, arguments);
    snprintf(info, sizeof info, "host=127.0.0.1 port=%d dbname=postgres user=turnstone", pg->port);
    for (int i = 0; i < 3000; i++) {
        int status;
        if (PQping(info) == PQPING_OK)
            return;
        if (waitpid(pg->postmaster, &status, WNOHANG) == pg->postmaster)
            break;
        usleep(20000);
    }
    print_file(log);
    fail_msg("the PostgreSQL server did not start");
}

/* Makes the struct of a server that has a port, but no files yet. */
static struct support_pg *new_server(void) {
    static unsigned number;
    struct support_pg *pg = calloc(1, sizeof *pg);
    assert_non_null(pg);
    snprintf(pg->folder, sizeof pg->folder, "%.490s/%u", base, ++number);
    pg->port = free_port();
    return pg;
}

struct support_pg *support_pg_standby(const struct support_pg *pg) {
    struct support_pg *standby = new_server();
    char program[PATH_SIZE + 16], from[100], settings[100];
    snprintf(program, sizeof program, "%s/pg_basebackup", bin);
    snprintf(from, sizeof from, "host=127.0.0.1 port=%d user=turnstone", pg->port);
    char *const arguments[] = {program,
                               (char[]){"-d"},
                               from,
                               (char[]){"-D"},
                               standby->folder,
                               (char[]){"-R"},
                               (char[]){"-X"},
                               (char[]){"stream"},
                               (char[]){"-c"},
                               (char[]){"fast"},
                               NULL};
    run(true, arguments);
    snprintf(settings, sizeof settings, "port = %d\nhot_standby = on\nwal_receiver_status_interval = 1s\n",
             standby->port);
    append(standby->folder, "postgresql.conf", settings);
    support_pg_resume(standby);
    return standby;
}

struct support_pg *support_pg_start(const struct support_pg_options *options) {
    make_template();
    struct support_pg *pg = new_server();
    char template[PATH_SIZE + 16];
    snprintf(template, sizeof template, "%s/template", base);
    char *const copy[] = {(char[]){"/bin/cp"}, (char[]){"-a"}, template, pg->folder, NULL};
    run(false, copy);
    char settings[600];
    snprintf(settings, sizeof settings,
             "listen_addresses = '127.0.0.1'\nport = %d\nunix_socket_directories = ''\n"
             "max_prepared_transactions = %d\nmax_connections = %d\nfsync = %s\nshared_buffers = 32MB\n"
             "log_min_messages = fatal\n%s\n",
             pg->port, options->max_prepared_transactions,
             options->max_connections != 0 ? options->max_connections : 100,
             options->without_fsync ? "off" : "on", options->settings != NULL ? options->settings : "");
    append(pg->folder, "postgresql.conf", settings);
    support_pg_resume(pg);
    return pg;
}

static void end(struct support_pg *pg) {
    if (pg->postmaster <= 0)
        return;
    kill(pg->postmaster, SIGQUIT);
    int status;
    while (waitpid(pg->postmaster, &status, 0) < 0 && errno == EINTR)
        ;
    pg->postmaster = 0;
}

void support_pg_kill(struct support_pg *pg) {
    end(pg);
}

void support_pg_reconfigure(struct support_pg *pg, const char *settings) {
    end(pg);
    append(pg->folder, "postgresql.conf", settings);
    append(pg->folder, "postgresql.conf", "\n");
    support_pg_resume(pg);
}

void support_pg_stop(struct support_pg *pg) {
    if (pg == NULL)
        return;
    end(pg);
    remove_tree(pg->folder);
    for (size_t i = 0; i < pg->url_count; i++)
        free(pg->urls[i]);
    free(pg);
}

int support_pg_port(const struct support_pg *pg) {
    return pg->port;
}

const char *support_pg_url(struct support_pg *pg, const char *database) {
    assert_true(pg->url_count < URLS_MAX);
    char *url = NULL;
    assert_true(asprintf(&url, "postgresql://turnstone@127.0.0.1:%d/%s", pg->port, database) > 0);
    pg->urls[pg->url_count++] = url;
    return url;
}

char *support_pg_sql(struct support_pg *pg, const char *database, const char *sql) {
    char info[256];
    snprintf(info, sizeof info, "host=127.0.0.1 port=%d dbname=%s user=turnstone", pg->port, database);
    PGconn *conn = PQconnectdb(info);
    if (PQstatus(conn) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(conn));
    PGresult *result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQresultErrorMessage(result));
    char *answer = PQntuples(result) > 0 ? strdup(PQgetvalue(result, 0, 0)) : NULL;
    PQclear(result);
    PQfinish(conn);
    return answer;
}

void support_pg_do(struct support_pg *pg, const char *database, const char *sql) {
    free(support_pg_sql(pg, database, sql));
}
