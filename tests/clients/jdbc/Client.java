import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import org.postgresql.PGConnection;
import org.postgresql.PGResultSetMetaData;

/**
 * Does with a server what programs on JDBC do, and says on lines of its own, with tabs between its fields, what it saw; tests/clients/test_jdbc.py
 * knows what it should have seen. Arguments: a JDBC URL and what to do.
 */
public final class Client {
    /** From the fifth time on pgjdbc prepares a statement on the server, and takes what it can in binary. */
    private static final int UNTIL_BINARY = 7;

    public static void main(String[] arguments) throws Exception {
        System.setOut(new java.io.PrintStream(System.out, true, StandardCharsets.UTF_8));
        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            switch (arguments[1]) {
                case "reflect" -> reflect(connection);
                case "types" -> types(connection);
                case "parameters" -> parameters(connection);
                case "portals" -> portals(connection);
                case "writes" -> writes(connection);
                case "cancels" -> cancels(connection);
                case "errors" -> errors(connection);
                default -> throw new IllegalArgumentException(arguments[1]);
            }
            say("select 1", one(connection));
        }
    }

    // What DatabaseMetaData tells.

    private static void reflect(Connection connection) throws SQLException {
        DatabaseMetaData data = connection.getMetaData();
        say("product", data.getDatabaseProductName(), data.getDatabaseMajorVersion());
        say("catalog", connection.getCatalog(), connection.getSchema());
        say("limits", data.getMaxColumnsInIndex(), data.getMaxColumnNameLength(), data.getDefaultTransactionIsolation());
        list("catalogs", data.getCatalogs(), "TABLE_CAT");
        list("schemas", data.getSchemas(), "TABLE_SCHEM");
        list("schemas like", data.getSchemas(null, "oth%"), "TABLE_SCHEM");
        list("tables", data.getTables(null, null, "%", new String[] {"TABLE", "VIEW"}), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE", "REMARKS");
        list("all tables", data.getTables(null, "public", "sh%", null), "TABLE_NAME", "TABLE_TYPE");
        list("columns", data.getColumns(null, "public", "sales", "%"),
            "ORDINAL_POSITION", "COLUMN_NAME", "TYPE_NAME", "DATA_TYPE", "COLUMN_SIZE", "DECIMAL_DIGITS", "IS_NULLABLE", "COLUMN_DEF", "REMARKS");
        list("primary", data.getPrimaryKeys(null, "public", "sales"), "KEY_SEQ", "COLUMN_NAME", "PK_NAME");
        list("imported", data.getImportedKeys(null, "public", "sales"),
            "PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME", "KEY_SEQ", "UPDATE_RULE", "DELETE_RULE", "PK_NAME");
        list("exported", data.getExportedKeys(null, "public", "shops"), "FKTABLE_NAME", "FKCOLUMN_NAME");
        list("cross", data.getCrossReference(null, null, "shops", null, null, "sales"), "FKTABLE_NAME", "FKCOLUMN_NAME");
        list("indexes", data.getIndexInfo(null, "public", "sales", false, true),
            "NON_UNIQUE", "INDEX_NAME", "TYPE", "ORDINAL_POSITION", "COLUMN_NAME", "ASC_OR_DESC");
        list("best row", data.getBestRowIdentifier(null, "public", "sales", DatabaseMetaData.bestRowSession, false), "COLUMN_NAME", "TYPE_NAME");
        list("functions", data.getFunctions(null, "public", "%"), "FUNCTION_NAME");
        list("procedures", data.getProcedures(null, "public", "%"), "PROCEDURE_NAME");
        list("function columns", data.getFunctionColumns(null, "public", "%", "%"), "FUNCTION_NAME", "COLUMN_NAME");
        list("user types", data.getUDTs(null, "public", "%", null), "TYPE_NAME");
        list("table privileges", data.getTablePrivileges(null, "public", "shops"), "PRIVILEGE");
        list("column privileges", data.getColumnPrivileges(null, "public", "shops", "name"), "PRIVILEGE");
        try (ResultSet found = data.getTypeInfo()) {
            while (found.next()) {
                if (List.of("int4", "text", "numeric", "timestamptz", "_int4").contains(found.getString("TYPE_NAME"))) {
                    say("type", found.getString("TYPE_NAME"), found.getInt("DATA_TYPE"));
                }
            }
        }
        try (Statement statement = connection.createStatement(); ResultSet found = statement.executeQuery("SELECT * FROM sales")) {
            for (int at = 1; at <= found.getMetaData().getColumnCount(); at++) {
                say("result", found.getMetaData().getColumnName(at), found.getMetaData().getColumnTypeName(at),
                    found.getMetaData().getColumnClassName(at), found.getMetaData().getPrecision(at), found.getMetaData().getScale(at));
            }
        }
        String joined = "SELECT s.id AS i, amount, 1 AS one, city FROM sales s JOIN shops ON shop = name";
        try (Statement statement = connection.createStatement(); ResultSet found = statement.executeQuery(joined)) {
            ResultSetMetaData columns = found.getMetaData();
            PGResultSetMetaData base = (PGResultSetMetaData) columns;
            for (int at = 1; at <= columns.getColumnCount(); at++) {
                say("origin", columns.getColumnLabel(at), base.getBaseSchemaName(at), columns.getTableName(at),
                    base.getBaseColumnName(at), columns.isNullable(at), columns.isAutoIncrement(at));
            }
        }
    }

    private static void list(String label, ResultSet found, String... columns) throws SQLException {
        try (found) {
            while (found.next()) {
                List<Object> values = new ArrayList<>();
                for (String column : columns) {
                    values.add(found.getString(column));
                }
                say(label, values.toArray());
            }
        }
    }

    // Values.

    /** Reads each query of the input, a name and a tab before it, in text and in binary. */
    private static void types(Connection connection) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String name = line.substring(0, line.indexOf('\t'));
            List<String> texts = new ArrayList<>();
            List<Object> objects = new ArrayList<>();
            String problem = "same";
            try (PreparedStatement statement = connection.prepareStatement(line.substring(name.length() + 1))) {
                for (int time = 0; time < UNTIL_BINARY; time++) {
                    List<Object> again = new ArrayList<>();
                    try (ResultSet found = statement.executeQuery()) {
                        while (found.next()) {
                            again.add(plain(found.getObject("v")));
                            if (time == 0) {
                                texts.add(found.getString("v"));
                            }
                        }
                    }
                    if (time == 0) {
                        objects = again;
                    } else if (!Arrays.deepEquals(objects.toArray(), again.toArray())) {
                        problem = "other objects the " + time + "th time: " + Arrays.deepToString(again.toArray());
                    }
                }
            } catch (SQLException error) {
                problem = error.getSQLState();
            } catch (RuntimeException error) {
                problem = error.getClass().getSimpleName();
            }
            say(name, problem);
            for (String text : texts) {
                say(name, "=", text);
            }
        }
    }

    /** What can be compared. */
    private static Object plain(Object value) throws SQLException {
        return value instanceof Array array ? array.getArray() : value;
    }

    private static void parameters(Connection connection) throws SQLException {
        OffsetDateTime instant = OffsetDateTime.of(2024, 2, 29, 12, 0, 0, 500_000_000, ZoneOffset.UTC);
        Object[][] cases = {
            {"INTEGER", 42}, {"SMALLINT", (short) -7}, {"BIGINT", 1L << 60}, {"DOUBLE", 0.1}, {"FLOAT", 1.5f}, {"BOOLEAN", true},
            {"VARCHAR", "käse 🧀"}, {"DECIMAL(20,4)", new BigDecimal("1234567890123456.7891")}, {"DATE", LocalDate.of(1582, 10, 15)},
            {"TIME", LocalTime.of(23, 59, 59, 999_999_000)}, {"TIMESTAMP", LocalDateTime.of(1970, 1, 1, 0, 0, 0, 1000)},
            {"TIMESTAMPTZ", instant}, {"UUID", UUID.fromString("00112233-4455-6677-8899-aabbccddeeff")}, {"BLOB", new byte[] {0, -1, 65}},
        };
        for (Object[] each : cases) {
            Object value = each[1];
            String sql = "SELECT CAST(? AS " + each[0] + "), CAST(? AS " + each[0] + ") IS NULL";
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                for (int time = 0; time < UNTIL_BINARY; time++) {
                    statement.setObject(1, value);
                    statement.setNull(2, Types.NULL);
                    try (ResultSet found = statement.executeQuery()) {
                        found.next();
                        Object back = found.getObject(1, value.getClass());
                        if (!Objects.deepEquals(value, back) || !found.getBoolean(2)) {
                            say("wrong", each[0], time, value, back);
                        }
                    }
                }
            }
            say("parameter", each[0]);
        }
        try (PreparedStatement statement = connection.prepareStatement("SELECT list_sum(?), ?[2]")) {
            for (int time = 0; time < UNTIL_BINARY; time++) {
                statement.setArray(1, connection.createArrayOf("integer", new Object[] {1, 2, 39}));
                statement.setArray(2, connection.createArrayOf("text", new Object[] {"a", "b,\"c"}));
                try (ResultSet found = statement.executeQuery()) {
                    found.next();
                    if (time == UNTIL_BINARY - 1) {
                        say("arrays", found.getInt(1), found.getString(2));
                    }
                }
            }
        }
    }

    // Rows in parts.

    private static void portals(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement first = connection.createStatement(); Statement second = connection.createStatement()) {
            first.setFetchSize(10);
            second.setFetchSize(7);
            long sum = 0;
            long others = 0;
            try (ResultSet rows = first.executeQuery("SELECT range FROM range(1000)");
                    ResultSet other = second.executeQuery("SELECT range FROM range(700)")) {
                while (rows.next()) {
                    sum += rows.getLong(1);
                    others += other.next() ? other.getLong(1) : 0;
                }
            }
            say("sums", sum, others);
            try (ResultSet rows = first.executeQuery("SELECT range FROM range(1000000)")) {
                rows.next();
            }
        }
        connection.commit();
        connection.setAutoCommit(true);
    }

    // Writes.

    private static void writes(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE written (i integer PRIMARY KEY, s varchar, d decimal(9, 2))");
            say("inserted", statement.executeUpdate("INSERT INTO written VALUES (-1, 'a', 1.5), (-2, NULL, NULL)"));
        }
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO written VALUES (?, ?, ?)")) {
            for (int number = 0; number < 1000; number++) {
                insert.setInt(1, number);
                insert.setString(2, number % 2 == 0 ? "row " + number : null);
                insert.setBigDecimal(3, BigDecimal.valueOf(number, 2));
                insert.addBatch();
            }
            say("batch", Arrays.stream(insert.executeBatch()).sum());
        }
        String returning = "INSERT INTO written VALUES (5000, 'r', 0)";
        try (PreparedStatement insert = connection.prepareStatement(returning, Statement.RETURN_GENERATED_KEYS)) {
            insert.executeUpdate();
            list("generated", insert.getGeneratedKeys(), "i", "s");
        }
        String kept = "SELECT i, s FROM written WHERE i = 5000";
        try (Statement statement = connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE)) {
            try (ResultSet rows = statement.executeQuery(kept)) {
                rows.next();
                rows.updateString("s", "changed");
                rows.updateRow();
            }
            list("row", statement.executeQuery(kept), "i", "s");
        }
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            say("updated", statement.executeUpdate("UPDATE written SET s = 'x' WHERE i < 0"));
            connection.rollback();
            say("deleted", statement.executeUpdate("DELETE FROM written WHERE i >= 500"));
            connection.commit();
            list("left", statement.executeQuery("SELECT count(*) AS n, count(s) AS s, sum(d) AS d FROM written"), "n", "s", "d");
        }
        connection.setAutoCommit(true);
        connection.setReadOnly(true);
        connection.setAutoCommit(false);
        fails("read only", connection, "DELETE FROM written");
        connection.rollback();
        connection.setAutoCommit(true);
        connection.setReadOnly(false);
    }

    // What goes wrong.

    private static final String ENDLESS = "SELECT count(*) FROM range(100000000000) a, range(1000) b WHERE a.range + b.range = -1";

    private static void cancels(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            AtomicBoolean isDone = new AtomicBoolean();
            Thread canceller = new Thread(() -> {
                // A cancel that comes before the query does nothing, and a statement sends but one: until one has.
                while (!isDone.get()) {
                    try {
                        statement.cancel();
                        Thread.sleep(50);
                        if (!isDone.get()) {
                            connection.unwrap(PGConnection.class).cancelQuery();
                        }
                    } catch (SQLException | InterruptedException error) {
                        say("cancelling failed", error.getMessage());
                        return;
                    }
                }
            });
            canceller.start();
            fails("cancelled", statement, ENDLESS);
            isDone.set(true);
            canceller.join();
            say("after", one(connection));
            statement.setQueryTimeout(1);
            fails("timed out", statement, ENDLESS);
            statement.setQueryTimeout(0);
        }
    }

    private static void errors(Connection connection) throws SQLException {
        fails("syntax", connection, "SELEC 1");
        fails("table", connection, "SELECT * FROM nope");
        fails("column", connection, "SELECT nope FROM range(1)");
        fails("function", connection, "SELECT nope(1)");
        fails("value", connection, "SELECT CAST('x' AS INTEGER)");
        fails("regclass", connection, "SELECT 'nope'::regclass");
        connection.setAutoCommit(false);
        fails("in a transaction", connection, "SELECT * FROM nope");
        fails("afterwards", connection, "SELECT 1");
        connection.rollback();
        say("after", one(connection));
        connection.commit();
        connection.setAutoCommit(true);
        try (PreparedStatement statement = connection.prepareStatement("SELECT CAST(? AS INTEGER)")) {
            for (String value : new String[] {"1", "x", "2"}) {
                statement.setString(1, value);
                try (ResultSet found = statement.executeQuery()) {
                    found.next();
                    say("prepared", found.getInt(1));
                } catch (SQLException error) {
                    say("prepared", error.getSQLState());
                }
            }
        }
        connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        say("isolation", connection.getTransactionIsolation() == Connection.TRANSACTION_REPEATABLE_READ);
    }

    private static void fails(String label, Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            fails(label, statement, sql);
        }
    }

    private static void fails(String label, Statement statement, String sql) {
        try {
            statement.execute(sql);
            say(label, "no error");
        } catch (SQLException error) {
            say(label, error.getSQLState());
        }
    }

    private static Object one(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet found = statement.executeQuery("SELECT 1")) {
            found.next();
            return found.getObject(1);
        }
    }

    private static synchronized void say(String label, Object... values) {
        StringBuilder line = new StringBuilder(label);
        for (Object value : values) {
            String text = String.valueOf(value);
            line.append('\t').append(text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t"));
        }
        System.out.println(line);
    }
}
