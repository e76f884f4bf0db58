# SPDX-License-Identifier: Apache-2.0
"""pprof's profile.proto as a Python class, to read and to write profiles."""
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# What google/pprof's profile.proto says of the fields that are read here: message: {field: (number, kind, repeated)}.
MESSAGES = {
    "ValueType": {"type": (1, "int64", False), "unit": (2, "int64", False)},
    "Label": {"key": (1, "int64", False), "str": (2, "int64", False)},
    "Sample": {"location_id": (1, "uint64", True), "value": (2, "int64", True), "label": (3, "Label", True)},
    "Mapping": {"id": (1, "uint64", False), "filename": (5, "int64", False), "has_functions": (7, "bool", False)},
    "Line": {"function_id": (1, "uint64", False), "line": (2, "int64", False)},
    "Location": {"id": (1, "uint64", False), "mapping_id": (2, "uint64", False), "address": (3, "uint64", False),
                 "line": (4, "Line", True)},
    "Function": {"id": (1, "uint64", False), "name": (2, "int64", False), "system_name": (3, "int64", False),
                 "filename": (4, "int64", False)},
    "Profile": {"sample_type": (1, "ValueType", True), "sample": (2, "Sample", True), "mapping": (3, "Mapping", True),
                "location": (4, "Location", True), "function": (5, "Function", True),
                "string_table": (6, "string", True), "time_nanos": (9, "int64", False),
                "duration_nanos": (10, "int64", False), "period_type": (11, "ValueType", False),
                "period": (12, "int64", False), "default_sample_type": (14, "int64", False)},
}


def profile_class():
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="pprof", syntax="proto3")
    for message, fields in MESSAGES.items():
        made = file.message_type.add(name=message)
        for name, (number, kind, is_repeated) in fields.items():
            field = made.field.add(name=name, number=number)
            field.label = field.LABEL_REPEATED if is_repeated else field.LABEL_OPTIONAL
            field.type = getattr(field, f"TYPE_{kind.upper()}", field.TYPE_MESSAGE)
            if field.type == field.TYPE_MESSAGE:
                field.type_name = f".pprof.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("pprof.Profile"))
