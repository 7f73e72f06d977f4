# The libraries that others link against, made of all layers below the command, and the files of `make
# install`.

# Sanitizers must be linked into a program, not into a library.
if(TS_SANITIZE)
    return()
endif()

set(TS_LIBRARY_LAYERS base os route git detect builtin report store_contract store_decorators store_local store_rocksdb store_postgres
    store_cluster scan txn_core txn_guard txn_driver config coord_core coord_driver)
set(objects)
foreach(layer IN LISTS TS_LIBRARY_LAYERS)
    list(APPEND objects $<TARGET_OBJECTS:${layer}>)
endforeach()

# Until 1.0 a new minor version may change the ABI. A program must not load the library of another one.
set(TS_SOVERSION ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
    string(APPEND TS_SOVERSION .${PROJECT_VERSION_MINOR})
endif()

add_library(turnstone_shared SHARED ${objects})
set_target_properties(turnstone_shared PROPERTIES OUTPUT_NAME turnstone LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${TS_SOVERSION})
set(foreign)
foreach(layer IN LISTS TS_LIBRARY_LAYERS)
    get_property(libraries TARGET ${layer} PROPERTY TS_FOREIGN_LIBRARIES)
    list(APPEND foreign ${libraries})
endforeach()
list(REMOVE_DUPLICATES foreign)
target_link_libraries(turnstone_shared PRIVATE ts_flags ${foreign})
target_link_options(turnstone_shared PRIVATE -Wl,--no-undefined)

# One object in which only the public functions are visible, so that private names cannot clash with a user's.
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/libturnstone.a
    COMMAND ${CMAKE_LINKER} -r -o turnstone.o ${objects}
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden turnstone.o
    COMMAND ${CMAKE_COMMAND} -E rm -f libturnstone.a
    COMMAND ${CMAKE_AR} rcs libturnstone.a turnstone.o
    DEPENDS ${objects} ${TS_LIBRARY_LAYERS}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
    COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(turnstone_static ALL DEPENDS ${CMAKE_BINARY_DIR}/libturnstone.a)

# The program writes its own man page and completions, from the tables of its parser.
set(TS_GENERATED ${CMAKE_BINARY_DIR}/generated)
foreach(form IN ITEMS man bash zsh)
    add_custom_command(OUTPUT ${TS_GENERATED}/turnstone.${form}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${TS_GENERATED}
        COMMAND turnstone help --as ${form} > ${TS_GENERATED}/turnstone.${form}
        DEPENDS turnstone VERBATIM)
    list(APPEND generated ${TS_GENERATED}/turnstone.${form})
endforeach()
add_custom_target(turnstone_generated ALL DEPENDS ${generated})

# The relative path from the pkg-config file to the prefix.
file(RELATIVE_PATH TS_PC_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)

# A program that links the static library also needs the libraries that it uses.
set(TS_LIBS_PRIVATE)
foreach(library IN LISTS foreign)
    get_target_property(linked ${library} INTERFACE_LINK_LIBRARIES)
    if(NOT linked)
        continue()
    endif()
    foreach(path IN LISTS linked)
        string(REGEX REPLACE "^.*/lib([^/]+)\\.(so|a)$" "-l\\1" flag "${path}")
        string(APPEND TS_LIBS_PRIVATE " ${flag}")
    endforeach()
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/cmake/turnstone.pc.in ${CMAKE_BINARY_DIR}/turnstone.pc @ONLY)

get_property(public_headers GLOBAL PROPERTY TS_PUBLIC_HEADERS)
list(TRANSFORM public_headers PREPEND ${CMAKE_SOURCE_DIR}/include/turnstone/)

install(TARGETS turnstone turnstone_shared)
install(FILES ${CMAKE_BINARY_DIR}/libturnstone.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/turnstone)
install(FILES ${CMAKE_BINARY_DIR}/turnstone.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${TS_GENERATED}/turnstone.man DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 RENAME turnstone.1)
install(FILES ${TS_GENERATED}/turnstone.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME turnstone)
install(FILES ${TS_GENERATED}/turnstone.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
        RENAME _turnstone)
