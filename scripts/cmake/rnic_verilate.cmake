# SPDX-License-Identifier: Apache-2.0
#
# rnic_verilate(<target>
#   TOP <module>            file rtl/*/<module>.sv, found by itself; other modules likewise
#   [PREFIX <class>]        C++ class, default V<module>; several variants of one module need different ones
#   [PARAMS NAME=VALUE...]  top-level parameters
#   [DEFINES NAME[=VALUE]...]
#   [SOURCES <files>...]    extra or private sources (a test wrapper), before the library search
#   [OPT <flags>]           optimisation of hot code, default "-O2"
#   [VERILATOR_ARGS ...]    anything else
#   [TRACE]                 FST waves compiled in (costs speed)
#   [NO_ASSERT])            leaves RTL assertions out (for speed)
#
# makes <target>, a library to link; it is built only when something that links it is built. An
# edit of any source that Verilator read rebuilds it, and only the C++ that changed is compiled
# again. TRACE models need the runtime rnic_verilated_trace, others rnic_verilated; linking
# <target> brings it.

find_program(RNIC_VERILATOR verilator REQUIRED)
execute_process(COMMAND ${RNIC_VERILATOR} --getenv VERILATOR_ROOT
                OUTPUT_VARIABLE RNIC_VERILATOR_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT EXISTS ${RNIC_VERILATOR_ROOT}/include/verilated.cpp)
  message(FATAL_ERROR "Verilator's runtime is not at '${RNIC_VERILATOR_ROOT}/include'")
endif()

# One Verilated model at a time per two processors, RNIC_JOBS compilers each.
set(RNIC_JOBS 2 CACHE STRING "Compile jobs of one Verilated model")
cmake_host_system_information(RESULT rnic_cpus QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR rnic_pool "(${rnic_cpus} + 1) / ${RNIC_JOBS}")
if(rnic_pool LESS 1)
  set(rnic_pool 1)
endif()
set_property(GLOBAL APPEND PROPERTY JOB_POOLS verilate=${rnic_pool})

# The runtime, once without and once with waves. Our hooks turn $error, $fatal, $stop into
# exceptions.
foreach(variant "" "_trace")
  set(lib rnic_verilated${variant})
  add_library(${lib} STATIC EXCLUDE_FROM_ALL
    ${RNIC_VERILATOR_ROOT}/include/verilated.cpp
    ${RNIC_VERILATOR_ROOT}/include/verilated_threads.cpp
    ${PROJECT_SOURCE_DIR}/tests/support/verilated_hooks.cpp)
  target_include_directories(${lib} SYSTEM PUBLIC
    ${RNIC_VERILATOR_ROOT}/include ${RNIC_VERILATOR_ROOT}/include/vltstd)
  target_include_directories(${lib} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${lib} PRIVATE VL_USER_STOP VL_USER_FATAL)
  target_compile_options(${lib} PRIVATE -w)
  target_link_libraries(${lib} PUBLIC Threads::Threads)
endforeach()
target_compile_definitions(rnic_verilated PUBLIC VM_TRACE=0 VM_COVERAGE=0 VM_SC=0)
target_compile_definitions(rnic_verilated_trace PUBLIC VM_TRACE=1 VM_TRACE_FST=1 VM_COVERAGE=0 VM_SC=0)
target_sources(rnic_verilated_trace PRIVATE ${RNIC_VERILATOR_ROOT}/include/verilated_fst_c.cpp)
target_link_libraries(rnic_verilated_trace PUBLIC ZLIB::ZLIB)

function(rnic_verilate target)
  cmake_parse_arguments(A "TRACE;NO_ASSERT" "TOP;PREFIX;OPT;BLOCK" "PARAMS;DEFINES;SOURCES;VERILATOR_ARGS" ${ARGN})
  if(NOT A_TOP)
    message(FATAL_ERROR "rnic_verilate(${target}): TOP is missing")
  endif()
  if(A_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rnic_verilate(${target}): unknown arguments ${A_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT A_PREFIX)
    set(A_PREFIX V${A_TOP})
  endif()
  if(NOT A_OPT)
    set(A_OPT "-O2")
  endif()

  set(args --cc --top-module ${A_TOP} --prefix ${A_PREFIX} -Wall -Wno-fatal -Wno-DECLFILENAME
      -O3 --x-assign fast --x-initial fast --unroll-count 256
      --output-split 20000 --output-split-cfuncs 2000)
  if(A_NO_ASSERT)
    # Signals that only an assertion reads are left over; scripts/check lints with assertions.
    list(APPEND args +define+RNIC_NO_ASSERT -Wno-UNUSEDSIGNAL)
  else()
    list(APPEND args --assert)
  endif()
  set(runtime rnic_verilated)
  if(A_TRACE)
    list(APPEND args --trace-fst --trace-structs --trace-max-width 16384 --trace-max-array 64)
    set(runtime rnic_verilated_trace)
  endif()
  foreach(param IN LISTS A_PARAMS)
    list(APPEND args -G${param})
  endforeach()
  foreach(define IN LISTS A_DEFINES)
    list(APPEND args +define+${define})
  endforeach()
  list(APPEND args ${A_VERILATOR_ARGS})
  set(sources)
  foreach(source IN LISTS A_SOURCES)
    get_filename_component(source ${source} ABSOLUTE)
    list(APPEND sources ${source})
  endforeach()

  set(dir ${PROJECT_BINARY_DIR}/verilated/${target})
  set(lib ${dir}/lib${target}.a)
  set(script ${PROJECT_SOURCE_DIR}/scripts/cmake/verilate.sh)
  file(MAKE_DIRECTORY ${dir}/cpp)
  add_custom_command(
    OUTPUT ${lib}
    BYPRODUCTS ${dir}/cpp/${A_PREFIX}.h  # a changed port compiles its users again
    COMMAND ${script} --dir ${dir} --lib ${lib} --rtl ${PROJECT_SOURCE_DIR}/rtl --verilator ${RNIC_VERILATOR}
            --jobs ${RNIC_JOBS} --cxx ${CMAKE_CXX_COMPILER} "--ccache=${RNIC_CCACHE}" "--opt=${A_OPT}" -- ${args}
            ${sources}
    DEPENDS ${script} ${sources}
    DEPFILE ${dir}/deps.d
    JOB_POOL verilate
    COMMENT "Verilating ${target} (${A_TOP} ${A_PARAMS})"
    VERBATIM)
  add_custom_target(${target}_build DEPENDS ${lib})
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${lib})
  target_include_directories(${target} SYSTEM INTERFACE ${dir}/cpp)
  target_link_libraries(${target} INTERFACE ${runtime})
  add_dependencies(${target} ${target}_build)
endfunction()
