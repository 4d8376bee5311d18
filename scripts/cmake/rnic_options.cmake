# SPDX-License-Identifier: Apache-2.0
#
# Compiler settings, packages, and the two small helpers that every folder uses:
#
#   rnic_library(<name> SOURCES ... [LIBS ...] [INCLUDE <dir>])   our own static library, warnings are errors
#   rnic_executable(<name> SOURCES ... [LIBS ...])
#
# Headers are included from the top of the repository: #include "harness/wire/wire.hpp".

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
# Optimised, assertions kept, no debug information (it doubles compile and link time; use Debug for
# gdb).
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2")

find_program(RNIC_CCACHE ccache)
if(RNIC_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${RNIC_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RNIC_CCACHE})
endif()

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Catch2 REQUIRED)
# Old packages call the target yaml-cpp, newer ones yaml-cpp::yaml-cpp.
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED GLOBAL)
  target_link_libraries(yaml-cpp::yaml-cpp INTERFACE yaml-cpp)
endif()

add_library(rnic_options INTERFACE)
target_compile_features(rnic_options INTERFACE cxx_std_20)
target_compile_options(rnic_options INTERFACE -Wall -Wextra -Werror)
target_include_directories(rnic_options INTERFACE ${PROJECT_SOURCE_DIR})

# A part under construction must not stop the others: a missing source is a warning (scripts/check
# makes it an error).
option(RNIC_STRICT "A missing source file is an error" OFF)
function(rnic_existing_sources out target)
  set(found)
  foreach(source IN LISTS ARGN)
    get_filename_component(path ${source} ABSOLUTE)
    get_source_file_property(generated ${path} GENERATED)
    if(EXISTS ${path} OR generated)
      list(APPEND found ${source})
    elseif(RNIC_STRICT)
      message(FATAL_ERROR "${target}: ${path} is missing")
    else()
      message(WARNING "${target}: ${path} is missing, left out")
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

function(rnic_library name)
  cmake_parse_arguments(A "" "INCLUDE" "SOURCES;LIBS" ${ARGN})
  rnic_existing_sources(A_SOURCES ${name} ${A_SOURCES})
  if(A_SOURCES)
    add_library(${name} STATIC ${A_SOURCES})
    target_link_libraries(${name} PUBLIC rnic_options ${A_LIBS})
    if(A_INCLUDE)
      target_include_directories(${name} PUBLIC ${A_INCLUDE})
    endif()
  else()  # headers only
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE rnic_options ${A_LIBS})
    if(A_INCLUDE)
      target_include_directories(${name} INTERFACE ${A_INCLUDE})
    endif()
  endif()
endfunction()

function(rnic_executable name)
  cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
  rnic_existing_sources(A_SOURCES ${name} ${A_SOURCES})
  if(NOT A_SOURCES)
    return()
  endif()
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE rnic_options ${A_LIBS})
endfunction()

# rnic_add_parts(<glob of CMakeLists.txt> [EXCEPT <folder>...] [FILTER "<names>"])
function(rnic_add_parts pattern)
  cmake_parse_arguments(A "" "" "EXCEPT;FILTER" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${pattern})
  list(SORT files)
  foreach(file IN LISTS files)
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(leaf ${folder} NAME)
    if(folder IN_LIST A_EXCEPT)
      continue()
    endif()
    if(A_FILTER AND NOT leaf IN_LIST A_FILTER)
      continue()
    endif()
    add_subdirectory(${folder})
  endforeach()
endfunction()
