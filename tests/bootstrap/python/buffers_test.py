#!/usr/bin/env python3
"""Memory of the caller, and copies of the library's."""

import glob
import importlib.util
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import cases  # noqa: E402  (the path comes first)


class Programs(unittest.TestCase):
    def passes(self, program):
        done = cases.run([sys.executable, "-c", program])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


class Copies(Programs):
    def test_have_the_whole_size(self):
        """2**62 bytes do not exist: as a C int they are 0, and the copy succeeds."""
        self.passes(
            "import ctypes\n"
            "from muster.communicator import Communicator\n"
            "class Library:\n"
            "    def muster_parts_size(self, parts, index): return 2**62\n"
            "    def muster_parts_data(self, parts, index): return ctypes.addressof(memory)\n"
            "memory = ctypes.create_string_buffer(8)\n"
            "comm = Communicator.__new__(Communicator)\n"
            "comm._library, comm._owned = Library(), False\n"
            "try:\n"
            "    raise AssertionError(comm._part(None, 0))\n"
            "except MemoryError:\n"
            "    pass\n"
            "Library.muster_parts_size = lambda *_: 7\n"
            "memory.value = b'ab\\0cdefg'\n"
            "assert comm._part(None, 0) == b'ab\\0cdef'\n"
        )

    def test_are_made_without_ctypes_string_at(self):
        for name in glob.glob(os.path.join(cases.PACKAGE, "muster/*.py")):
            with open(name, encoding="utf-8") as file:
                self.assertFalse("string_at(" in file.read(), name)


class OtherModules(Programs):
    """Functions of ctypes.pythonapi are objects that all modules of the process share."""

    def test_keep_the_types_that_they_have_set(self):
        self.passes(
            "import ctypes\n"
            "shared = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release\n"
            "before = [function.argtypes for function in shared]\n"
            "from muster import _buffers\n"
            "assert [function.argtypes for function in shared] == before\n"
            "class Other(ctypes.Structure): _fields_ = [('buf', ctypes.c_void_p)]\n"
            "shared[0].argtypes = [ctypes.py_object, ctypes.POINTER(Other), ctypes.c_int]\n"
            "shared[1].argtypes = [ctypes.POINTER(Other)]\n"
            "assert _buffers.region('it', bytearray(3)).size == 3\n"
        )


class Tensors(Programs):
    def test_whose_memory_does_not_have_their_values_are_refused(self):
        self.passes(
            "import muster\n"
            "from muster import _buffers\n"
            "class Tensor:\n"
            "    device = type('device', (), {'type': 'cpu'})\n"
            "    conj = neg = False\n"
            "    def data_ptr(self): return 0\n"
            "    def is_contiguous(self): return True\n"
            "    def is_conj(self): return self.conj\n"
            "    def is_neg(self): return self.neg\n"
            "Tensor.__module__ = 'torch'\n"
            "for bit in 'conj', 'neg':\n"
            "    tensor = Tensor()\n"
            "    setattr(tensor, bit, True)\n"
            "    try:\n"
            "        _buffers.region('send', tensor)\n"
            "        raise AssertionError('not refused')\n"
            "    except muster.UsageError as error:\n"
            "        assert error.message == 'send: a tensor whose memory does not have its values', error\n"
            "        assert error.hint == 'call tensor.resolve_conj().resolve_neg() first', error\n"
        )


REFUSED = """
import ctypes
import muster

def refusal(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except muster.UsageError as error:
        return error
    raise AssertionError("not refused")

comm = muster.init()
"""


class Pointers(Programs):
    """No object of one process is one of another: the receiver would crash."""

    message = "has elements of type {}, which are pointers into the memory of this process"
    hint = "pass objects to broadcast, gather or all_gather, which send them as pickles"

    def test_are_not_moved(self):
        self.passes(
            REFUSED + "objects = (ctypes.py_object * 1)('a')\n"
            "calls = [(comm.send, objects, 0), (comm.all_to_all, objects, objects), (comm.broadcast_buffer, objects),\n"
            "    (comm.scatter, objects, objects), (comm.all_gather_bytes, objects), (comm.gather_buffer, objects, None)]\n"
            "for call, *arguments in calls:\n"
            "    error = refusal(call, *arguments)\n"
            f"    assert error.message == call.__name__ + ': py_object_Array_1 {self.message.format('<O')}', error\n"
            f"    assert error.hint == {self.hint!r}, error\n"
            "class Named(ctypes.Structure): _fields_ = [('id', ctypes.c_int), ('name', ctypes.c_char_p)]\n"
            "refusal(comm.broadcast_buffer, (Named * 2)())\n"
            "class Plain(ctypes.Structure): _fields_ = [('Offset', ctypes.c_int), ('POz', ctypes.c_double)]\n"
            "comm.broadcast_buffer((Plain * 2)())\n"
        )

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "no numpy")
    def test_of_numpy_are_not_moved(self):
        self.passes(
            REFUSED + "import numpy\n"
            "refusal(comm.gather_buffer, numpy.array(['a', 1], dtype=object), numpy.empty(2, dtype=object))\n"
            "refusal(comm.broadcast_buffer, numpy.zeros(2, dtype=[('id', 'i4'), ('text', 'O')]))\n"
            "comm.broadcast_buffer(numpy.zeros(2, dtype=[('Offset', 'i4'), ('Points', 'c16'), ('z', 'S3')]))\n"
        )


class Interrupted(Programs):
    def test_before_memory_is_taken(self):
        self.passes(
            "import sys\n"
            "from muster import _buffers\n"
            "def interrupt(frame, event, argument):\n"
            "    if frame.f_code is _buffers._Exported.__init__.__code__:\n"
            "        raise KeyboardInterrupt\n"
            "sys.settrace(interrupt)\n"
            "try:\n"
            "    raise AssertionError(_buffers.region('', bytearray(1)))\n"
            "except KeyboardInterrupt:\n"
            "    pass\n"
        )


if __name__ == "__main__":
    cases.main()
