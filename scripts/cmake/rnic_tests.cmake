# SPDX-License-Identifier: Apache-2.0
#
# rnic_unit_test(<block>
#   [MODEL <module> [PREFIX <class>] [PARAMS NAME=VALUE...] [DEFINES ...] [MODEL_SOURCES <files>...] [NO_ASSERT]]...
#   SOURCES <test files>...
#   [LIBS <libraries>...])
#
# makes the program unit_<block> from Catch2 tests and any number of Verilated models,
# unit_<block>_wave with waves compiled in (built on demand by `scripts/unit <block> --wave`), and
# the ctest entries unit.<block> (label unit) and, when a source has a [.soak] test, soak.<block>
# (label soak). Without MODEL it is a plain C++ test. tests/support/README.md shows how to write
# one. Tests find data through RNIC_SOURCE_DIR (a C++ macro: the repository's root).
#
# rnic_proof(<block> TOP <module> [NAME <name>] [SOURCES <files>...] [PARAMS N=V...] [DEFINES N=V...]
#            [VARIANTS NEW=MODULE:DEFINE...] [DEPTH <cycles>] [INDUCTION <steps>] [COVER <cycles>])
#
# adds the ctest entry proof.<block>.<name> (label proof): scripts/prove.py on the module or on a proof
# bench of its own.

# Of the models of blocks and their tests; -O0 compiles fastest.
set(RNIC_TEST_OPT "-O1" CACHE STRING "Optimisation of unit tests and their models")

add_custom_target(tests)

find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(rnic_proof block)
  cmake_parse_arguments(A "" "TOP;NAME;DEPTH;INDUCTION;COVER" "SOURCES;PARAMS;DEFINES;VARIANTS" ${ARGN})
  if(NOT A_NAME)
    set(A_NAME ${A_TOP})
  endif()
  set(args ${A_TOP} --work ${PROJECT_BINARY_DIR}/proofs)
  foreach(source IN LISTS A_SOURCES)
    get_filename_component(source ${source} ABSOLUTE)
    list(APPEND args --source ${source})
  endforeach()
  foreach(param IN LISTS A_PARAMS)
    list(APPEND args --param ${param})
  endforeach()
  foreach(define IN LISTS A_DEFINES)
    list(APPEND args --define ${define})
  endforeach()
  foreach(variant IN LISTS A_VARIANTS)
    list(APPEND args --variant ${variant})
  endforeach()
  foreach(number DEPTH INDUCTION COVER)
    if(A_${number})
      string(TOLOWER ${number} option)
      list(APPEND args --${option} ${A_${number}})
    endif()
  endforeach()
  add_test(NAME proof.${block}.${A_NAME}
           COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/prove.py ${args})
  set_tests_properties(proof.${block}.${A_NAME} PROPERTIES LABELS "proof;${block}" TIMEOUT 3600)
endfunction()

function(rnic_unit_test block)
  set(models)
  set(sources)
  set(libs)
  set(key "")
  foreach(arg IN LISTS ARGN)
    if(arg MATCHES "^(MODEL|PREFIX|PARAMS|DEFINES|MODEL_SOURCES|SOURCES|LIBS)$")
      set(key ${arg})
    elseif(arg STREQUAL "NO_ASSERT")
      set(m_${model}_NO_ASSERT NO_ASSERT)
    elseif(key STREQUAL "MODEL")
      list(LENGTH models model)
      list(APPEND models ${model})
      set(m_${model}_TOP ${arg})
      set(m_${model}_PREFIX V${arg})
      foreach(field PARAMS DEFINES MODEL_SOURCES NO_ASSERT)
        set(m_${model}_${field} "")
      endforeach()
    elseif(key STREQUAL "PREFIX")
      set(m_${model}_PREFIX ${arg})
    elseif(key MATCHES "^(PARAMS|DEFINES|MODEL_SOURCES)$")
      list(APPEND m_${model}_${key} ${arg})
    elseif(key STREQUAL "SOURCES")
      list(APPEND sources ${arg})
    elseif(key STREQUAL "LIBS")
      list(APPEND libs ${arg})
    else()
      message(FATAL_ERROR "rnic_unit_test(${block}): unexpected '${arg}'")
    endif()
  endforeach()

  rnic_existing_sources(sources unit_${block} ${sources})
  if(NOT sources)
    return()
  endif()
  set(soak OFF)
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    file(STRINGS ${path} lines REGEX "\\[\\.soak\\]")
    if(lines)
      set(soak ON)
    endif()
  endforeach()

  foreach(variant "" "_wave")
    set(program unit_${block}${variant})
    add_executable(${program} EXCLUDE_FROM_ALL ${sources})
    target_compile_options(${program} PRIVATE ${RNIC_TEST_OPT})  # test code is compiled often and waits for the model
    target_compile_definitions(${program} PRIVATE RNIC_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    foreach(model IN LISTS models)
      set(lib ${block}.${m_${model}_PREFIX}${variant})
      set(trace)
      if(variant)
        set(trace TRACE)
      endif()
      rnic_verilate(${lib} TOP ${m_${model}_TOP} PREFIX ${m_${model}_PREFIX} PARAMS ${m_${model}_PARAMS}
                    DEFINES ${m_${model}_DEFINES} SOURCES ${m_${model}_MODEL_SOURCES} ${m_${model}_NO_ASSERT} ${trace}
                    OPT "${RNIC_TEST_OPT}")
      target_link_libraries(${program} PRIVATE ${lib})
    endforeach()
    target_link_libraries(${program} PRIVATE rnic_options ${libs} rnic_test_support${variant})
  endforeach()
  # The block's name reaches main() through a definition of one generated file, so that the support
  # library is shared.
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/unit_${block}_name.cpp CONTENT
"namespace rnic::test { extern const char* const kBlockName; const char* const kBlockName = \"${block}\"; }\n")
  target_sources(unit_${block} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/unit_${block}_name.cpp)
  target_sources(unit_${block}_wave PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/unit_${block}_name.cpp)

  add_dependencies(tests unit_${block})
  add_test(NAME unit.${block} COMMAND unit_${block} WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  set_tests_properties(unit.${block} PROPERTIES LABELS "unit;${block}" TIMEOUT 3600)
  if(soak)
    add_test(NAME soak.${block} COMMAND unit_${block} "[.soak]" WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
    set_tests_properties(soak.${block} PROPERTIES LABELS "soak;${block}" TIMEOUT 7200)
  endif()
endfunction()
