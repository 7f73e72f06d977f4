#include "config/config.h"

#include "folder.h"

static char found[TS_CONFIG_PATH_SIZE];

static void expect_found(const struct ts_config_places *places, const char *name) {
    assert_true(ts_config_find(places, found));
    assert_string_equal(found, folder_path(name));
}

static void the_users_file_comes_before_the_systems(void **state) {
    (void)state;
    folder_write("home/.config/turnstone/config.yml", "");
    folder_write("xdg/turnstone/config.yml", "");
    folder_write("dirs/turnstone/config.yml", "");
    folder_write("etc/turnstone/config.yml", "");
    struct ts_config_places places = {.xdg_config_home = folder_path("xdg"), .home = folder_path("home")};
    char dirs[300], etc[300];
    snprintf(dirs, sizeof dirs, "%s/none:%s/dirs", folder, folder);
    snprintf(etc, sizeof etc, "%s/etc", folder);
    places.xdg_config_dirs = dirs;
    places.system = etc;
    expect_found(&places, "xdg/turnstone/config.yml");
    places.xdg_config_home = NULL;
    expect_found(&places, "home/.config/turnstone/config.yml");
    places.home = NULL;
    expect_found(&places, "dirs/turnstone/config.yml");
    places.xdg_config_dirs = "/nowhere/at/all";
    expect_found(&places, "etc/turnstone/config.yml");
    places.system = "/nowhere/at/all";
    assert_false(ts_config_find(&places, found));
}

/* As the XDG specification says, XDG_CONFIG_HOME replaces ~/.config if it is set. Then ~/.config is not
 * searched. */
static void a_set_config_home_replaces_the_one_in_home(void **state) {
    (void)state;
    folder_write("home/.config/turnstone/config.yml", "");
    struct ts_config_places places = {.xdg_config_home = folder_path("empty"),
                                      .home = folder_path("home"),
                                      .xdg_config_dirs = "/nowhere/at/all",
                                      .system = "/nowhere/at/all"};
    assert_false(ts_config_find(&places, found));
    places.xdg_config_home = "";
    expect_found(&places, "home/.config/turnstone/config.yml");
    places.xdg_config_home = "relative";
    expect_found(&places, "home/.config/turnstone/config.yml");
}

static void names_that_are_too_long_or_odd_are_ignored(void **state) {
    (void)state;
    static char longest[10000];
    memset(longest, 'a', sizeof longest - 1);
    longest[0] = '/';
    struct ts_config_places places = {
        .xdg_config_home = longest, .xdg_config_dirs = ":::relative::", .system = longest};
    assert_false(ts_config_find(&places, found));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_users_file_comes_before_the_systems, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(a_set_config_home_replaces_the_one_in_home, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(names_that_are_too_long_or_odd_are_ignored, folder_begin, folder_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
