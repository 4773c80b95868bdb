import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** The parts of a tool's program, and what they share. The server is found by libpq's variables. */
final class Parts {
    interface Part {
        void run() throws Exception;
    }

    private Parts() {}

    /** Runs one part. A failure is reported, and the next part runs. */
    static void part(String name, Part part) {
        System.out.println("begins\t" + name);
        try {
            part.run();
            System.out.println("passed\t" + name);
        } catch (Throwable failure) {
            System.out.println("failed\t" + name);
            failure.printStackTrace(System.out);
        }
        System.out.flush();
    }

    static void same(Object expected, Object seen) {
        if (!Objects.equals(expected, seen)) {
            throw new AssertionError("expected " + expected + ", not " + seen);
        }
    }

    static String url() {
        return "jdbc:postgresql://%s:%s/%s".formatted(variable("HOST"), variable("PORT"), variable("DATABASE"));
    }

    static String user() {
        return variable("USER");
    }

    private static String variable(String name) {
        return System.getenv("PG" + name);
    }

    static Connection connect() throws Exception {
        return DriverManager.getConnection(url(), user(), null);
    }

    /** The rows of a query, each as the texts of its values. */
    static List<String> rows(String query) throws Exception {
        List<String> rows = new ArrayList<>();
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(query)) {
            while (result.next()) {
                List<String> values = new ArrayList<>();
                for (int column = 1; column <= result.getMetaData().getColumnCount(); column++) {
                    values.add(result.getString(column));
                }
                rows.add(String.join("|", values.stream().map(String::valueOf).toList()));
            }
        }
        return rows;
    }
}
