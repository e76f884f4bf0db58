# SPDX-License-Identifier: Apache-2.0
"""Tables of libxsp_read: columns in place, rows as named tuples, pandas and Arrow where they are installed."""
import array
import collections
import ctypes
import weakref

from . import _library
from ._library import BLOB, INTEGER, MIXED, NULL, REAL, TEXT

_FORMATS = {ctypes.c_int64: "q", ctypes.c_double: "d", ctypes.c_uint8: "B"}


class Table:
    """Columns of equal length. `table[name]` is a list of Python values, `table.array(name)` the column in place."""

    def __init__(self, pointer):
        self._pointer = pointer
        # Not at exit: views of the columns may live on until the process is gone.
        weakref.finalize(self, _library.free_table, pointer).atexit = False
        library = _library.library()
        self._count = library.xsp_read_row_count(pointer)
        self._columns = []
        for index in range(library.xsp_read_column_count(pointer)):
            column = _library.Column(size=ctypes.sizeof(_library.Column))
            library.xsp_read_table_column(pointer, index, ctypes.byref(column))
            self._columns.append(column)
        self.columns = [column.name.decode("utf-8", "replace") for column in self._columns]
        self._texts = None

    def __len__(self):
        return self._count

    def _column(self, name):
        return self._columns[name if isinstance(name, int) else self.columns.index(name)]

    def _view(self, address, kind, count):
        if count == 0:
            return memoryview(array.array(_FORMATS[kind]))
        values = (kind * count).from_address(address)
        values._table = self  # which owns the memory
        return memoryview(values).toreadonly().cast("B").cast(_FORMATS[kind])

    def array(self, name):
        """The column's values in place, 8 bytes each: a memoryview of integers or of floats. Where all are texts, their
        numbers in `texts()`. A null is 0: see `nulls`. numpy.asarray takes it without a copy."""
        column = self._column(name)
        if column.type == MIXED:
            raise TypeError(f"column {self.columns[self._columns.index(column)]} has values of several types")
        kind = ctypes.c_double if column.type == REAL else ctypes.c_int64
        return self._view(column.values, kind, self._count)

    def types(self, name):
        """A byte a value: 0 null, 1 integer, 2 real, 3 text, 4 blob."""
        return self._view(self._column(name).types, ctypes.c_uint8, self._count)

    def nulls(self, name):
        return self._column(name).null_count

    def _text_arrays(self):
        data, offsets = ctypes.c_void_p(), ctypes.c_void_p()
        count = _library.library().xsp_read_texts(self._pointer, ctypes.byref(data), ctypes.byref(offsets))
        ends = self._view(offsets.value, ctypes.c_int64, count + 1)
        return ends, self._view(data.value, ctypes.c_uint8, ends[count])

    def _bytes(self):
        ends, data = self._text_arrays()
        data = bytes(data)
        return [data[start:end] for start, end in zip(ends, ends[1:])]

    def texts(self):
        """The texts of all columns. A byte that is not UTF-8 becomes U+FFFD, so texts that differ in such bytes are equal here."""
        if self._texts is None:
            self._texts = [text.decode("utf-8", "replace") for text in self._bytes()]
        return self._texts

    def __getitem__(self, name):
        column = self._column(name)
        if column.type == NULL:
            return [None] * self._count
        if column.type == MIXED or column.type == BLOB:
            return self._mixed(column)
        values = self.array(name).tolist()
        if column.type == TEXT:
            texts = self.texts()
            if column.null_count == 0:
                return [texts[value] for value in values]
            return [texts[value] if kind else None for value, kind in zip(values, self.types(name))]
        if column.null_count == 0:
            return values
        return [value if kind else None for value, kind in zip(values, self.types(name))]

    def _mixed(self, column):
        integers = self._view(column.values, ctypes.c_int64, self._count)
        reals = self._view(column.values, ctypes.c_double, self._count)
        blobs, texts = self._bytes(), self.texts()
        places = {NULL: lambda row: None, INTEGER: integers.__getitem__, REAL: reals.__getitem__,
                  TEXT: lambda row: texts[integers[row]], BLOB: lambda row: blobs[integers[row]]}
        kinds = self._view(column.types, ctypes.c_uint8, self._count)
        return [places[kind](row) for row, kind in enumerate(kinds)]

    def rows(self, kind=None):
        """Each row as a named tuple."""
        kind = kind or collections.namedtuple("Row", self.columns, rename=True)
        return map(kind._make, zip(*(self[place] for place in range(len(self.columns))))) if self.columns else iter(())

    def __iter__(self):
        return self.rows()

    def to_pandas(self):
        """A DataFrame. Texts are categories, and integers with nulls are of type Int64."""
        import numpy
        import pandas
        data = {}
        for place, column in enumerate(self._columns):
            if column.type in (MIXED, BLOB, NULL):
                data[place] = pandas.Series(self[place], dtype=object)
                continue
            values = numpy.array(self.array(place))
            nulls = numpy.asarray(self.types(place)) == 0 if column.null_count else None
            if column.type == TEXT:
                numbers, codes = numpy.unique(values if nulls is None else values[~nulls], return_inverse=True)
                texts = self.texts()
                categories, merged = _merge([texts[number] for number in numbers])
                places = codes = numpy.array(merged, dtype=codes.dtype)[codes]
                if nulls is not None:
                    places = numpy.full(self._count, -1)
                    places[~nulls] = codes
                data[place] = pandas.Categorical.from_codes(places, pandas.Index(categories, dtype=object))
            elif nulls is None:
                data[place] = values
            elif column.type == INTEGER:
                data[place] = pandas.arrays.IntegerArray(values, nulls)
            else:
                values[nulls] = numpy.nan
                data[place] = values
        frame = pandas.DataFrame(data)
        frame.columns = self.columns  # which may be equal
        return frame

    def to_arrow(self):
        """A pyarrow.Table. Texts are dictionaries. Integers and reals in one column become reals, other mixtures texts."""
        import pyarrow
        arrays = []
        for place in range(len(self.columns)):
            column = self._columns[place]
            if column.type == NULL:
                arrays.append(pyarrow.nulls(self._count))
            elif column.type in (MIXED, BLOB):
                arrays.append(_arrow_of(self[place], pyarrow))
            else:
                arrays.append(self._arrow_column(place, column, pyarrow))
        return pyarrow.table(arrays, names=self.columns).replace_schema_metadata(self._pandas_types())

    def _pandas_types(self):
        """What pyarrow.Table.to_pandas goes by: it makes doubles of integers with nulls, which lose nanoseconds of today."""
        import json
        columns = [{"name": name, "field_name": name, "pandas_type": "int64", "numpy_type": "Int64", "metadata": None}
                   for name, column in zip(self.columns, self._columns)
                   if column.type == INTEGER and column.null_count and self.columns.count(name) == 1]
        if not columns:
            return None
        return {"pandas": json.dumps({"index_columns": [], "column_indexes": [], "columns": columns})}

    def _arrow_column(self, place, column, pyarrow):
        kind = pyarrow.float64() if column.type == REAL else pyarrow.int64()
        valid = None
        if column.null_count:
            bits = pyarrow.array((value != 0 for value in self.types(place)), type=pyarrow.bool_())
            valid = bits.buffers()[1]
        values = pyarrow.Array.from_buffers(kind, self._count, [valid, pyarrow.py_buffer(self.array(place))],
                                            column.null_count)
        if column.type != TEXT:
            return values
        different, merged = _merge(self.texts())
        if len(different) < len(merged):
            values = pyarrow.array(merged, type=pyarrow.int64()).take(values)
        return pyarrow.DictionaryArray.from_arrays(values, pyarrow.array(different, type=pyarrow.large_string()))


def _merge(texts):
    """The different ones, in order, and the place of each text among them."""
    places = {}
    merged = [places.setdefault(text, len(places)) for text in texts]
    return list(places), merged


def _arrow_of(values, pyarrow):
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {bytes}:
        return pyarrow.array(values, type=pyarrow.binary())
    if kinds <= {int, float}:
        return pyarrow.array([None if value is None else float(value) for value in values], type=pyarrow.float64())
    return pyarrow.array([None if value is None else str(value) for value in values], type=pyarrow.string())
