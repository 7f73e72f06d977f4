# ts_layer(NAME
#     [DETERMINISTIC]         no clock, random source, thread or file: checked by symbols after every build
#     SOURCES file.c...       relative to the calling folder
#     [HEADERS file.h...]     what layers above may include, as "<folder>/file.h"
#     [PUBLIC file.h...]      what users of the library may include too: include/turnstone/file.h
#     [TYPES file.h...]       include/turnstone/file.h of a layer that this one cannot depend on: types, not functions
#     [DEPENDS layer...]      layers below
#     [LIBRARIES target...])  foreign libraries
#
# A layer is one static library. Its include path is a tree of links made here that holds exactly the headers listed
# above, and layers see the trees of the layers they depend on and nothing else; a wrong include does not compile.
# Headers that are not listed are private to the folder.

set(TS_HEADER_TREES ${CMAKE_BINARY_DIR}/layers)

function(ts_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 L "DETERMINISTIC" "" "SOURCES;HEADERS;PUBLIC;TYPES;DEPENDS;LIBRARIES")
    if(L_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "ts_layer(${name}): what is ${L_UNPARSED_ARGUMENTS}?")
    endif()

    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    set(tree ${TS_HEADER_TREES}/${name})
    file(REMOVE_RECURSE ${tree})
    file(MAKE_DIRECTORY ${tree}/${folder} ${tree}/turnstone)
    set(exposed)
    foreach(header IN LISTS L_HEADERS)
        file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${header} ${tree}/${folder}/${header} SYMBOLIC)
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

    if(L_DETERMINISTIC)
        set_property(TARGET ${name} PROPERTY TS_DETERMINISTIC ON)
        ts_check_symbols(${name} "${L_DEPENDS}")
    endif()
    ts_check_headers(${name} "${exposed}")

    # What the folder keeps to itself is compiled alone too, when all layers of the folder are known.
    get_property(known DIRECTORY PROPERTY TS_FOLDER_LAYERS)
    if(NOT known)
        cmake_language(EVAL CODE "cmake_language(DEFER CALL ts_check_private_headers ${folder})")
    endif()
    set_property(DIRECTORY APPEND PROPERTY TS_FOLDER_LAYERS ${name})
    set_property(DIRECTORY APPEND PROPERTY TS_FOLDER_EXPOSED ${L_HEADERS})
endfunction()

# A deterministic layer may use itself, deterministic layers below it, and tools/deterministic.symbols.
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

# Every header is compiled alone, and twice, by the include path of its own layer.
function(ts_check_headers name exposed)
    if(NOT TS_TESTS OR NOT exposed)
        return()
    endif()
    set(sources)
    foreach(header IN LISTS exposed)
        string(REPLACE "${CMAKE_SOURCE_DIR}/" "" id ${header}) # two folders may have a header of one name
        string(MAKE_C_IDENTIFIER ${id} id)
        set(source ${CMAKE_BINARY_DIR}/headers/${name}/${id}.c)
        file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@header@\"\n#include \"@header@\"\ntypedef int @id@_alone;\n" @ONLY)
        list(APPEND sources ${source})
    endforeach()
    add_library(${name}_headers OBJECT ${sources})
    target_link_libraries(${name}_headers PRIVATE ts_flags_alone ${name})
endfunction()

function(ts_check_private_headers folder)
    get_property(layers DIRECTORY PROPERTY TS_FOLDER_LAYERS)
    get_property(exposed DIRECTORY PROPERTY TS_FOLDER_EXPOSED)
    file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
    foreach(header IN LISTS exposed)
        list(REMOVE_ITEM headers ${CMAKE_CURRENT_SOURCE_DIR}/${header})
    endforeach()
    ts_check_headers(${folder}_private "${headers}")
    if(TARGET ${folder}_private_headers)
        set_property(TARGET ${folder}_private_headers PROPERTY LINK_LIBRARIES ts_flags_alone ${layers})
    endif()
endfunction()
