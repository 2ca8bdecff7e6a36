"""What DuckDB and pyarrow read in a Parquet file and an Arrow stream of transactions."""
import json
import sys

import duckdb
import pyarrow.ipc
import pyarrow.parquet

parquet, arrow = sys.argv[1:]
rows, fees, first, day = duckdb.execute(
    "SELECT count(*), CAST(sum(total_fees) AS VARCHAR), min(hash), CAST(min(block_date) AS VARCHAR) FROM read_parquet(?)",
    [parquet],
).fetchone()
table = pyarrow.parquet.read_table(parquet)
with pyarrow.ipc.open_stream(arrow) as stream:
    streamed = stream.read_all()


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


print(
    json.dumps(
        {
            "duckdb": {"rows": rows, "fees": text(fees), "first": text(first), "day": text(day)},
            "pyarrow": {
                "rows": table.num_rows,
                "columns": table.column_names,
                "fees": str(sum(table["total_fees"].to_pylist()).quantize(1)),
                "first": min(text(one) for one in table["hash"].to_pylist()),
            },
            "stream": {"rows": streamed.num_rows, "first": min(text(one) for one in streamed["hash"].to_pylist())},
        }
    )
)
