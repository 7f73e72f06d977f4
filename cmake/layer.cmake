# ts_layer(NAME               the folder's path below src/, with _ for /
#     [DETERMINISTIC]         no clock, random source, thread or file: checked by symbols after every build
#     SOURCES file.c...       relative to the calling folder
#     [HEADERS file.h...]     what layers above may include, as "<folder>/file.h"
#     [FAMILY file.h...]      what only layers above of the same family, the folder right below src/, may include
#     [PUBLIC file.h...]      what users of the library may include too: include/turnstone/file.h
#     [TYPES file.h...]       include/turnstone/file.h of a layer that this one cannot depend on: types, not functions
#     [DEPENDS layer...]      layers below
#     [LIBRARIES target...])  foreign libraries
#
# A layer is one static library. Its include path is a tree of links made here that holds exactly the headers listed
# above, and layers see the trees of the layers they depend on and nothing else; a wrong include does not compile.
# Headers that are not listed are private to the folder. A folder has one layer, or folders of layers.

set(TS_HEADER_TREES ${CMAKE_BINARY_DIR}/layers)

function(ts_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 L "DETERMINISTIC" "" "SOURCES;HEADERS;FAMILY;PUBLIC;TYPES;DEPENDS;LIBRARIES")
    if(L_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "ts_layer(${name}): what is ${L_UNPARSED_ARGUMENTS}?")
    endif()

    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
    string(REPLACE "/" "_" folder_name ${folder})
    if(NOT name STREQUAL folder_name)
        message(FATAL_ERROR "ts_layer(${name}): the layer of src/${folder} is called ${folder_name}")
    endif()
    set(tree ${TS_HEADER_TREES}/${name})
    set(family_tree ${TS_HEADER_TREES}/${name}.family)
    file(REMOVE_RECURSE ${tree} ${family_tree})
    file(MAKE_DIRECTORY ${tree}/${folder} ${tree}/turnstone ${family_tree}/${folder})
    set(exposed)
    foreach(header IN LISTS L_HEADERS)
        file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${header} ${tree}/${folder}/${header} SYMBOLIC)
        list(APPEND exposed ${folder}/${header})
    endforeach()
    foreach(header IN LISTS L_FAMILY)
        file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${header} ${family_tree}/${folder}/${header} SYMBOLIC)
        list(APPEND exposed ${folder}/${header})
    endforeach()
    foreach(header IN LISTS L_PUBLIC)
        file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include/turnstone/${header} ${tree}/turnstone/${header} SYMBOLIC)
        list(APPEND exposed turnstone/${header})
        set_property(GLOBAL APPEND PROPERTY TS_PUBLIC_HEADERS ${header})
    endforeach()
    foreach(header IN LISTS L_TYPES)
        file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include/turnstone/${header} ${tree}/turnstone/${header} SYMBOLIC)
    endforeach()

    add_library(${name} STATIC ${L_SOURCES})
    target_include_directories(${name} PUBLIC ${tree})
    target_link_libraries(${name} PRIVATE ts_flags)
    target_link_libraries(${name} PUBLIC ${L_DEPENDS} ${L_LIBRARIES})
    set_property(TARGET ${name} PROPERTY TS_FOREIGN_LIBRARIES ${L_LIBRARIES})

    string(REGEX REPLACE "/.*" "" family ${folder})
    set_property(TARGET ${name} PROPERTY TS_FAMILY ${family})
    set(family_trees ${family_tree})
    foreach(layer IN LISTS L_DEPENDS)
        get_target_property(other ${layer} TS_FAMILY)
        if(other STREQUAL family)
            list(APPEND family_trees ${TS_HEADER_TREES}/${layer}.family)
        endif()
    endforeach()
    set_property(TARGET ${name} PROPERTY TS_FAMILY_TREES ${family_trees})
    target_include_directories(${name} PRIVATE ${family_trees})

    if(L_DETERMINISTIC)
        set_property(TARGET ${name} PROPERTY TS_DETERMINISTIC ON)
        ts_check_symbols(${name} "${L_DEPENDS}")
    endif()
    ts_check_headers(${name} "${exposed}")

    # Private headers of the folder are compiled alone, too.
    file(GLOB private CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
    foreach(header IN LISTS L_HEADERS L_FAMILY)
        list(REMOVE_ITEM private ${CMAKE_CURRENT_SOURCE_DIR}/${header})
    endforeach()
    ts_check_headers(${name} "${private}" private_)
endfunction()

# A deterministic layer may use its own symbols, those of deterministic layers below it, and
# tools/deterministic.symbols.
function(ts_check_symbols name depends)
    set(below)
    foreach(layer IN LISTS depends)
        get_target_property(deterministic ${layer} TS_DETERMINISTIC)
        if(NOT deterministic)
            message(FATAL_ERROR "${name} is deterministic and cannot depend on ${layer}, which is not")
        endif()
        list(APPEND below $<TARGET_FILE:${layer}>)
    endforeach()
    if(TS_SYMBOL_CHECK)
        add_custom_command(TARGET ${name} POST_BUILD
            COMMAND ${CMAKE_SOURCE_DIR}/tools/check-symbols ${CMAKE_SOURCE_DIR}/tools/deterministic.symbols ${name}
                    $<TARGET_FILE:${name}> ${below}
            COMMENT "symbols of ${name}" VERBATIM)
    endif()
endfunction()

# Every header is compiled alone, and included twice, with the include path of its own layer.
function(ts_check_headers name headers)
    if(NOT TS_TESTS OR NOT headers)
        return()
    endif()
    set(sources)
    foreach(header IN LISTS headers)
        string(REPLACE "${CMAKE_SOURCE_DIR}/" "" id ${header}) # two folders may have a header of one name
        string(MAKE_C_IDENTIFIER ${id} id)
        set(source ${CMAKE_BINARY_DIR}/headers/${name}/${id}.c)
        file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@header@\"\n#include \"@header@\"\ntypedef int @id@_alone;\n" @ONLY)
        list(APPEND sources ${source})
    endforeach()
    set(target ${name}_${ARGN}headers)
    add_library(${target} OBJECT ${sources})
    target_link_libraries(${target} PRIVATE ts_flags_alone ${name})
    ts_look_inside(${target} ${name})
endfunction()

# A test may include private headers of its layer and of its family.
function(ts_look_inside target layer)
    get_target_property(folder ${layer} SOURCE_DIR)
    get_target_property(family_trees ${layer} TS_FAMILY_TREES)
    target_include_directories(${target} PUBLIC ${folder} ${family_trees})
endfunction()
