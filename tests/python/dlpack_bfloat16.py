"""An exporter of DLPack, as a tensor of another library: NumPy's own arrays have no bfloat16."""

from __future__ import annotations

import ctypes

import numpy as np


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

BFLOAT, CPU = 4, 1


class Tensor:
    """bfloat16 numbers, whose bits are those of `bits`; `released` counts what importers gave back."""

    def __init__(self, bits: np.ndarray) -> None:
        assert bits.dtype == np.uint16
        self.bits = bits
        self.shape = bits.shape
        self.released = 0
        self._shape = (ctypes.c_int64 * 2)(*bits.shape)
        self._strides = (ctypes.c_int64 * 2)(*(stride // 2 for stride in bits.strides))
        self._deleter = _Deleter(self._release)
        self._managed = _Managed(
            _Tensor(bits.ctypes.data, _Device(CPU, 0), 2, _DataType(BFLOAT, 16, 1), self._shape, self._strides, 0),
            None,
            self._deleter,
        )

    def _release(self, _: object) -> None:
        self.released += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return (CPU, 0)

    def __dlpack__(self, **_: object) -> object:
        return _new_capsule(ctypes.addressof(self._managed), b"dltensor", None)
