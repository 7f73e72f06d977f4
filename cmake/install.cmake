# The libraries that others link against, made of all layers below the command, and what `make install` puts where.

set(TS_LIBRARY_LAYERS base os route store)
set(objects)
set(foreign)
foreach(layer IN LISTS TS_LIBRARY_LAYERS)
    list(APPEND objects $<TARGET_OBJECTS:${layer}>)
endforeach()

add_library(turnstone_shared SHARED ${objects})
set_target_properties(turnstone_shared PROPERTIES OUTPUT_NAME turnstone LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_link_libraries(turnstone_shared PRIVATE ts_flags ts_rocksdb Threads::Threads)
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
if(NOT TS_SANITIZE)
    add_custom_target(turnstone_static ALL DEPENDS ${CMAKE_BINARY_DIR}/libturnstone.a)
endif()

# The program writes its own man page and completions, from the tables that it parses by.
set(TS_GENERATED ${CMAKE_BINARY_DIR}/generated)
foreach(form IN ITEMS man bash zsh)
    add_custom_command(OUTPUT ${TS_GENERATED}/turnstone.${form}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${TS_GENERATED}
        COMMAND turnstone help --as ${form} > ${TS_GENERATED}/turnstone.${form}
        DEPENDS turnstone VERBATIM)
    list(APPEND generated ${TS_GENERATED}/turnstone.${form})
endforeach()
add_custom_target(turnstone_generated ALL DEPENDS ${generated})

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
