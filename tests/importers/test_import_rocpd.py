# SPDX-License-Identifier: Apache-2.0
"""rocpd, the database of rocprofv3, in both of its schemas: 3 has places and times in its rows, 4 in tables of their own."""
import os
import sqlite3
import unittest

from imported import Imported

BASE = 172_352_210_000_000  # of the monotonic clock
SUFFIX = "_0197a3c2_7d11"
INFO = {
    "rocpd_metadata": "id integer primary key, tag text, value text",
    "rocpd_string": "id integer primary key, guid text, string text",
    "rocpd_info_node": "id integer primary key, guid text, hash bigint, machine_id text, hostname text",
    "rocpd_info_process": "id integer primary key, guid text, nid integer, ppid integer, pid integer, command text",
    "rocpd_info_thread": "id integer primary key, guid text, nid integer, ppid integer, pid integer, tid integer, name text",
    "rocpd_info_agent": "id integer primary key, guid text, nid integer, pid integer, type text, name text, product_name text",
    "rocpd_info_kernel_symbol": "id integer primary key, guid text, nid integer, pid integer, code_object_id integer, kernel_name text,"
                                " display_name text",
    "rocpd_event": "id integer primary key, guid text, category_id integer, stack_id integer, parent_stack_id integer,"
                   " correlation_id integer, extdata text",
    "rocpd_pmc_event": "id integer primary key, guid text, event_id integer, pmc_id integer, value real",
    "rocpd_track": "id integer primary key, guid text, nid integer, ppid integer, pid integer, tid integer, agent_id integer,"
                   " queue_id integer, stream_id integer, name_id integer",
    "rocpd_timestamp": "id integer primary key, guid text, value bigint, phase integer, track_id integer"}
PLACE = ("pid", "tid", "agent_id", "queue_id", "stream_id")
ROWS = {"rocpd_region": ("name_id",),
        "rocpd_kernel_dispatch": ("kernel_id", "dispatch_id", "private_segment_size", "group_segment_size", "workgroup_size_x",
                                  "workgroup_size_y", "workgroup_size_z", "grid_size_x", "grid_size_y", "grid_size_z"),
        "rocpd_memory_copy": ("name_id", "dst_agent_id", "src_agent_id", "size"),
        "rocpd_memory_allocate": ("type", "size")}
STRINGS = ["", "HIP_RUNTIME_API", "hipLaunchKernel", "hipMemcpy", "MARKER_CORE_RANGE_API", "roctxThreadRangeA", "KERNEL_DISPATCH",
           "MEMORY_COPY", "MEMORY_COPY_HOST_TO_DEVICE", "RCCL_API", "ncclAllReduce", "KFD_QUEUE", "evict"]


class Database:
    """One part of a file, as rocprofv3 writes it: ids of processes and threads are the system's, unless `rows_from` numbers rows."""

    def __init__(self, path, schema=3, suffix=SUFFIX, pid=70, rows_from=None):
        self.data, self.schema, self.suffix, self.pid = sqlite3.connect(path), schema, suffix, pid
        self.data.execute("pragma page_size = 512")
        self.process, self.thread = (pid, 71) if rows_from is None else (rows_from, rows_from + 1)
        for table, columns in INFO.items():
            if schema == 4 or table != "rocpd_timestamp":
                self.create(table, columns)
        for table, columns in ROWS.items():
            times = "start bigint, end bigint, " + ", ".join(f"{name} integer" for name in PLACE) if schema == 3 else \
                "track_id integer, start_id integer, end_id integer"
            self.create(table, f"id integer primary key, guid text, {times}, " + ", ".join(columns) + ", event_id integer")
        for number, string in enumerate(STRINGS, 1):
            self.add("rocpd_string", id=number, string=string)
        self.add("rocpd_info_node", id=9, hostname="node7")
        self.add("rocpd_info_process", id=self.process, nid=9, pid=pid)
        self.add("rocpd_info_thread", id=self.thread, nid=9, pid=self.process, tid=71)
        for number, kind, name in ((0, "CPU", "AMD EPYC"), (1, "GPU", "AMD Instinct MI300X"), (2, "GPU", "AMD Instinct MI300X")):
            self.add("rocpd_info_agent", id=number, nid=9, pid=self.process, type=kind, product_name=name)
        self.add("rocpd_info_kernel_symbol", id=1, kernel_name="_Z4gemmPf.kd", display_name="gemm(float*)")
        self.add("rocpd_info_kernel_symbol", id=2, kernel_name="relu.kd", display_name="")

    def create(self, table, columns):
        self.data.execute(f'create table "{table}{self.suffix}" ({columns})')
        self.data.execute(f'create view if not exists "{table}" as select * from "{table}{self.suffix}"')

    def add(self, table, **values):
        names = ", ".join(f'"{name}"' for name in values)
        return self.data.execute(f'insert into "{table}{self.suffix}" ({names}) values ({", ".join("?" * len(values))})',
                                 list(values.values())).lastrowid

    def row(self, table, category, start, end, correlation, agent=None, queue=None, stream=None, extdata="{}", **values):
        event = self.add("rocpd_event", category_id=STRINGS.index(category) + 1, stack_id=correlation, correlation_id=0, extdata=extdata)
        place = dict(zip(PLACE, (self.process, self.thread, agent, queue, stream)))
        if self.schema == 3:
            return self.add(table, start=BASE + start, end=BASE + end, event_id=event, **place, **values)
        track = self.add("rocpd_track", nid=9, **place)
        times = {key: self.add("rocpd_timestamp", value=BASE + time, track_id=track) for key, time in (("start_id", start), ("end_id", end))}
        return self.add(table, track_id=track, **times, event_id=event, **values)

    def region(self, category, name, *times, **more):
        self.row("rocpd_region", category, *times, name_id=STRINGS.index(name) + 1, **more)

    def kernel(self, start, end, correlation, kernel, agent=1, **more):
        return self.row("rocpd_kernel_dispatch", "KERNEL_DISPATCH", start, end, correlation, agent, 5, kernel_id=kernel, dispatch_id=1,
                        group_segment_size=8192, workgroup_size_x=256, workgroup_size_y=1, workgroup_size_z=1, grid_size_x=1024,
                        grid_size_y=2, grid_size_z=1, **more)

    def program(self):
        """Two kernels launched in an operator's range, a copy, a collective; an allocation, a counter and an event of the driver."""
        self.region("HIP_RUNTIME_API", "hipLaunchKernel", 100, 200, 7)
        self.region("HIP_RUNTIME_API", "hipLaunchKernel", 250, 300, 8)
        self.region("HIP_RUNTIME_API", "hipMemcpy", 1900, 2600, 9)
        self.region("MARKER_CORE_RANGE_API", "roctxThreadRangeA", 50, 400, 3, extdata='{"message": "aten::mm"}')
        self.region("RCCL_API", "ncclAllReduce", 410, 480, 4)
        self.region("KFD_QUEUE", "evict", 10, 20, 0)
        self.kernel(500, 1500, 7, 1, stream=3)
        self.kernel(600, 900, 8, 2, agent=2)
        self.row("rocpd_memory_copy", "MEMORY_COPY", 2000, 2500, 9, stream=3, name_id=9, src_agent_id=0, dst_agent_id=1, size=4096)
        self.row("rocpd_memory_allocate", "MEMORY_COPY", 5, 6, 2, type="ALLOC", size=64)
        self.add("rocpd_pmc_event", event_id=7, pmc_id=1, value=5.0)
        return self

    def close(self):
        self.data.commit()
        self.data.close()


class Rocpd(Imported):
    def program(self, **options):
        path = os.path.join(self.folder, "results.db")
        if os.path.exists(path):
            os.unlink(path)
        Database(path, **options).program().close()
        return path

    def test_both_schemas(self):
        for schema in (3, 4):
            with self.subTest(schema):
                report, spans = self.load_files(self.program(schema=schema))
                self.assertEqual((report["files"][0]["format"], report["files"][0]["events"], report["files"][0]["skipped"]),
                                 ("rocpd", 11, {"memory": 1, "counter": 1, "of the kernel's driver": 1}))
                named = {span["name"]: span for span in spans}
                gemm, relu, layer = named["gemm(float*)"], named["relu.kd"], named["aten::mm"]
                self.assertEqual((gemm["start_ns"], gemm["duration_ns"], gemm["kind"], gemm["category"]),
                                 (BASE + 500, 1000, "execution", "kernel"))
                # Grids are in work-items: 1024 / 256 groups
                self.assertEqual(gemm["tags"], {"block": "[256,1,1]", "grid": "[4,2,1]", "shared_bytes": 8192, "recorded_correlation": 7})
                self.assertEqual((gemm["device_id"], gemm["stream_id"], gemm["track"], relu["device_id"], relu["stream_id"]),
                                 (0, 3, "GPU 0 stream 3", 1, 5))
                self.assertEqual((layer["level"], gemm["parent_id"], relu["parent_id"], gemm["basis"]),
                                 ("layer", layer["span_id"], layer["span_id"], "correlation"))
                copied = named["Memcpy HtoD"]
                self.assertEqual((copied["category"], copied["tags"]["bytes"], copied["device_id"]), ("memcpy", 4096, 0))
                self.assertEqual((named["ncclAllReduce"]["level"], named["ncclAllReduce"]["thread_id"], layer["process_id"]),
                                 ("library", 71, 70))
                self.assertEqual((self.system()["gpu"], self.system()["host"]), ("AMD Instinct MI300X", "node7"))

    def test_copies_within_the_host_and_large_ids(self):
        """No GPU takes part in the copy, so it is on none; ids of more than 32 bits join calls and kernels."""
        for schema in (3, 4):
            path, large = os.path.join(self.folder, f"large{schema}.db"), 1 << 32 | 7
            database = Database(path, schema=schema).program()
            database.region("HIP_RUNTIME_API", "hipLaunchKernel", 310, 320, large)
            database.kernel(1600, 1700, large, 1, stream=3)
            database.row("rocpd_memory_copy", "MEMORY_COPY", 2000, 2600, 9, stream=3, name_id=9, src_agent_id=0, dst_agent_id=0, size=64)
            database.close()
            _, spans = self.load_files(path)
            (copied,) = (span for span in spans if span["name"] == "Memcpy HtoH")
            self.assertEqual((copied["device_id"], copied["thread_id"], copied["process_id"]), (None, None, 70))
            self.assertEqual([(span["basis"], span["tags"]["recorded_correlation"]) for span in spans if span["name"] == "gemm(float*)"],
                             [("correlation", 7), ("correlation", large)])

    def test_numbers_of_rows(self):
        """Processes and threads by the numbers of their rows."""
        _, spans = self.load_files(self.program(schema=4, rows_from=1))
        self.assertEqual({(span["process_id"], span["thread_id"]) for span in spans if span["device_id"] is None}, {(70, 71)})

    def test_several_recordings(self):
        path = self.program()
        Database(path, suffix="_0197ffff", pid=80).program().close()
        _, spans = self.load_files(path)
        gemms = [span for span in spans if span["name"] == "gemm(float*)"]
        self.assertEqual([(s["process_id"], s["correlation_id"], s["basis"]) for s in gemms],
                         [(70, 7, "correlation"), (80, 1 << 32 | 7, "correlation")])
        self.assertNotEqual(gemms[0]["parent_id"], gemms[1]["parent_id"])

    def changed(self, *statements):
        path = self.program(schema=4)
        with sqlite3.connect(path) as data:
            for statement in statements:
                data.execute(statement.replace("$", SUFFIX))
        data.close()
        return path

    def test_what_is_missing(self):
        """Rows that refer to what is not there keep what they have."""
        report, spans = self.load_files(self.changed("delete from rocpd_string$ where id = 3", "delete from rocpd_timestamp$ where id = 1",
                                                     "delete from rocpd_event$ where id = 8", "delete from rocpd_info_kernel_symbol$ where id = 2",
                                                     "update rocpd_timestamp$ set value = 0 where id = 4"))
        self.assertEqual(report["files"][0]["skipped"], {"memory": 1, "counter": 1, "of the kernel's driver": 1, "no times": 1,
                                                         "negative duration": 1})
        (kernel,) = (span for span in spans if span["category"] == "kernel" and span["device_id"] == 1)
        self.assertEqual((kernel["name"], kernel["correlation_id"]), ("", None))

    def test_what_cannot_be_read(self):
        def refuse(path, *words):
            with open(path, "rb") as file:
                self.refuse(file.read(), mentions=words)
        refuse(self.changed("alter table rocpd_region$ drop column start_id"), "rocpd_region", "neither column start nor start_id")
        refuse(self.changed("update rocpd_timestamp$ set value = 'soon' where id = 2"), "rocpd_timestamp", "column value")
        refuse(self.changed("drop view rocpd_event", "drop table rocpd_event$", "create view rocpd_event$ as select 1"), "it is a view")
        with open(self.program(), "rb") as file:
            self.refuse(file.read()[:-600], mentions=["truncated"])
        self.refuse(b"SQLite format 3\0" + b"\0" * 84 + b"rocpd_info_node rocpd_event", mentions=["rocprofv3 --output-format rocpd"],
                    options=["--format", "rocpd"])


if __name__ == "__main__":
    unittest.main()
