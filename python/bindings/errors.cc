#include "errors.h"

#include <nanobind/nanobind.h>

#include <string>

#include "attention_plasticity/base/address_secrets.h"
#include "attention_plasticity/error.h"

namespace nb = nanobind;

namespace attention_plasticity::python {
namespace {

// Messages quote names of files, which need not be UTF-8.
nb::object text(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

void set_error(const Error& error) {
  const nb::object make = nb::module_::import_("attention_plasticity._errors").attr("make_error");
  const nb::object exception =
      make(exit_code(error.kind()), text(error.what()), text(without_address_secrets(error.file())));
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
}

}  // namespace

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      set_error(error);
    }
  });
}

}  // namespace attention_plasticity::python
