// SPDX-License-Identifier: Apache-2.0
// How long devices work for layers and observations, in SQL. answers/analyze/layers/device_time.c computes the same from single executions;
// trace/format/detail.h defines the figures. Called by sql.c.
#include "clickhouse/sql_private.h"

// All that runs on devices, with what it is in; and layers that have finished.
static void put_sources(const struct reply_runs *whole, struct buf *sql)
{
  buf_text(sql, ", executions AS (SELECT k.run AS run, k.start_ns AS start_ns, k.start_ns + k.duration_ns AS end_ns, "
                "k.kind = 'execution' AS is_execution, a.observation AS observation, a.layer AS layer, "
                "a.counted AS counted FROM rows AS k INNER JOIN ancestors AS a ON a.run = k.run AND a.id = k.parent "
                "WHERE k.level = 'kernel' AND k.kind != 'launch' AND k.category IN ('kernel', 'memcpy', 'memset') "
                "AND NOT k.is_open AND k.run NOT IN ");
  sql_put_runs(whole, sql);
  buf_text(sql, "), layers AS (SELECT l.run AS run, l.id AS id, l.start_ns AS start_ns, "
                "l.start_ns + l.duration_ns AS end_ns, l.process AS process, a.counted = l.id AS is_counted "
                "FROM rows AS l INNER JOIN ancestors AS a ON a.run = l.run AND a.id = l.id "
                "WHERE l.level = 'layer' AND NOT l.is_open AND l.run NOT IN ");
  sql_put_runs(whole, sql);
  buf_text(sql, ")");
}

// `busy`: per run and key, in order of time, how long some interval of the key covers the time before each start, and how far
// those before it reach. Keys are a layer's process, for executions in layers of it, and '*', for all of them and the layers
// that count.
static void put_busy(struct buf *sql)
{
  buf_text(sql,
           ", intervals AS (SELECT u.run AS run, u.key AS key, u.start_ns AS start_ns, max(u.end_ns) AS end_ns FROM ("
           "SELECT e.run AS run, arrayJoin([l.process, '*']) AS key, e.start_ns AS start_ns, e.end_ns AS end_ns "
           "FROM executions AS e INNER JOIN layers AS l ON l.run = e.run AND l.id = e.layer "
           "WHERE e.is_execution AND e.counted != 0 "
           "UNION ALL SELECT run, '*' AS key, start_ns, end_ns FROM layers WHERE is_counted) AS u "
           "GROUP BY u.run, u.key, u.start_ns)"
           ", reached AS (SELECT run, key, start_ns, end_ns, max(end_ns) OVER (PARTITION BY run, key ORDER BY start_ns "
           "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach_ns FROM intervals)"
           ", busy AS (SELECT run, key, start_ns, greatest(reach_ns, end_ns) AS until_ns, "
           "sum(greatest(0, end_ns - greatest(start_ns, reach_ns))) OVER (PARTITION BY run, key ORDER BY start_ns "
           "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - greatest(0, end_ns - greatest(start_ns, reach_ns)) "
           "- greatest(0, reach_ns - start_ns) AS before_ns FROM reached)");
}

// The sums of `busy` at starts and ends of layers that count, and of observations.
static void put_instants(const struct reply_runs *whole, struct buf *sql)
{
  buf_text(sql, ", instants AS (SELECT run, id, process AS key, arrayJoin([0, 1]) AS is_end, "
                "if(is_end, end_ns, start_ns) AS time_ns FROM layers WHERE is_counted "
                "UNION ALL SELECT run, id, '*' AS key, arrayJoin([0, 1]) AS is_end, "
                "start_ns + if(is_end, duration_ns, 0) AS time_ns FROM rows WHERE is_observation AND run NOT IN ");
  sql_put_runs(whole, sql);
  buf_text(sql, "), covered AS (SELECT i.run AS run, i.id AS id, any(i.key) AS key, "
                "sumIf(i.covered, NOT i.is_end) AS before_start, sumIf(i.covered, i.is_end) AS before_end FROM ("
                "SELECT n.run AS run, n.id AS id, n.key AS key, n.is_end AS is_end, if(b.key = '', 0, b.before_ns + "
                "greatest(0, least(n.time_ns, b.until_ns) - b.start_ns)) AS covered FROM instants AS n ASOF LEFT JOIN "
                "busy AS b ON b.run = n.run AND b.key = n.key AND n.time_ns >= b.start_ns) AS i GROUP BY i.run, i.id)");
}

// A tag as a part of a list of attributes: one more argument of concat.
static void put_tag(struct buf *sql, const char *tag, const char *number)
{
  buf_format(sql, ", ',{\"key\":\"xsp.tag.%s\",\"value\":{\"intValue\":\"', toString(%s), '\"}}'", tag, number);
}

static void put_observations(struct buf *sql)
{
  buf_text(sql, "SELECT run, observation AS id, concat(''");
  put_tag(sql, "condensed_gpu_ns", "intervalLengthSum(start_ns, end_ns)");
  buf_text(sql, ") AS text FROM executions GROUP BY run, observation");
}

static void put_layers(struct buf *sql)
{
  buf_text(sql, "SELECT e.run AS run, e.counted AS id, concat(''");
  put_tag(sql, "condensed_gpu_ns", "intervalLengthSum(e.start_ns, e.end_ns)");
  put_tag(sql, "condensed_executed_ns", "intervalLengthSumIf(e.start_ns, e.end_ns, e.is_execution)");
  put_tag(sql, "condensed_sum_ns", "sumIf(e.end_ns - e.start_ns, e.is_execution)");
  put_tag(sql, "condensed_late_ns", "sumIf(greatest(0, e.end_ns - greatest(e.start_ns, l.end_ns)), e.is_execution)");
  buf_text(sql, ") AS text FROM executions AS e INNER JOIN layers AS l ON l.run = e.run AND l.id = e.counted "
                "GROUP BY e.run, e.counted");
}

void sql_put_device_facts(const struct reply_runs *whole, bool are_by_layer, struct buf *sql)
{
  put_sources(whole, sql);
  if (!are_by_layer) {
    buf_text(sql, ", facts AS (");
    put_observations(sql);
    buf_text(sql, ")");
    return;
  }
  put_busy(sql);
  put_instants(whole, sql);
  buf_text(sql, ", facts AS (SELECT t.run AS run, t.id AS id, arrayStringConcat(groupArray(t.text)) AS text FROM ("
                "SELECT run, id, if(key = '*', concat(''");
  put_tag(sql, "condensed_covered_ns", "before_end - before_start");
  buf_text(sql, "), concat(''");
  put_tag(sql, "condensed_start_ns", "before_start");
  put_tag(sql, "condensed_end_ns", "before_end");
  buf_text(sql, ")) AS text FROM covered UNION ALL ");
  put_layers(sql);
  buf_text(sql, " UNION ALL ");
  put_observations(sql);
  buf_text(sql, ") AS t GROUP BY t.run, t.id)");
}
