# The driver by ADBC's driver manager for R, which finds it by the name "colonnade". COLONNADE_URI names a PostgreSQL
# server, with or without the extension.
library(adbcdrivermanager)

connection <- adbc_driver("colonnade") |>
  adbc_database_init(uri = Sys.getenv("COLONNADE_URI")) |>
  adbc_connection_init()
read <- function(query, ...) as.data.frame(read_adbc(connection, query, ...))

# Types and values.
rows <- read("
  select i, 'ä' || i as s, i / 4::float8 as f, date '2024-02-28' + i as d, nullif(i, 2) as n
  from generate_series(1, 3) i order by i
")
stopifnot(
  identical(rows$i, 1:3),
  identical(rows$s, c("ä1", "ä2", "ä3")),
  identical(rows$f, c(0.25, 0.5, 0.75)),
  identical(format(rows$d), c("2024-02-29", "2024-03-01", "2024-03-02")),
  identical(rows$n, c(1L, NA, 3L))
)

# Many batches.
stopifnot(identical(sum(as.numeric(read("select i from generate_series(1, 1000000) i")$i)), 500000500000))

# Parameters.
stopifnot(identical(read("select $1::float8 * 2 as x", bind = data.frame(a = c(1.5, 2.5)))$x, c(3, 5)))

# Errors before a stream and in it. The connection answers afterwards.
message_of <- function(query) tryCatch({ read(query); "no error" }, error = conditionMessage)
stopifnot(
  grepl("adbc_absent", message_of("select * from adbc_absent")),
  grepl("division by zero", message_of("select 1000000 / (900000 - i) as q from generate_series(1, 1000000) i")),
  identical(read("select 7 as n")$n, 7L)
)
cat("read by R\n")
