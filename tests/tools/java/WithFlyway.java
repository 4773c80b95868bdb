import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;
import org.flywaydb.core.api.MigrationInfo;
import org.flywaydb.core.api.configuration.FluentConfiguration;
import org.flywaydb.core.api.migration.BaseJavaMigration;
import org.flywaydb.core.api.migration.Context;
import org.flywaydb.core.api.output.MigrateResult;
import org.flywaydb.database.postgresql.PostgreSQLConfigurationExtension;

/** Flyway: versions in SQL and in Java, a repeatable one, a broken one, schemas, baseline, repair and clean. */
public final class WithFlyway {
    /** A migration in Java, with a prepared statement. */
    public static final class V5__Java extends BaseJavaMigration {
        @Override
        public void migrate(Context context) throws Exception {
            try (var insert = context.getConnection().prepareStatement("INSERT INTO paints (litres) VALUES (?)")) {
                for (int litres = 5; litres < 8; litres++) {
                    insert.setInt(1, litres);
                    insert.addBatch();
                }
                Parts.same(3, insert.executeBatch().length);
            }
        }
    }

    private final String folder;

    private WithFlyway(String folder) {
        this.folder = "filesystem:" + folder;
    }

    public static void main(String[] arguments) {
        WithFlyway program = new WithFlyway(arguments[0] + "/flyway");
        Parts.part("migrates", program::migrates);
        Parts.part("migrates again", program::migratesAgain);
        Parts.part("has information", program::hasInformation);
        Parts.part("migrates what is new", program::migratesWhatIsNew);
        Parts.part("undoes a broken migration", program::undoesBroken);
        Parts.part("validates and repairs", program::validatesAndRepairs);
        Parts.part("makes a schema of its own", program::ownSchema);
        Parts.part("uses the schema of the path", program::schemaOfThePath);
        Parts.part("begins with a baseline", program::baseline);
        Parts.part("cleans its own schema", program::cleansOwn);
        Parts.part("cleans", program::cleans);
    }

    private FluentConfiguration configured() {
        return Flyway.configure()
                .dataSource(Parts.url(), Parts.user(), null)
                .locations(folder)
                .table("flyway_history")
                .placeholders(Map.of("first", "Ann"));
    }

    /** Only the first three versions. */
    private FluentConfiguration first() {
        return configured().target("3");
    }

    /** CREATE INDEX CONCURRENTLY would wait forever for a transaction that holds Flyway's lock. */
    private FluentConfiguration all() {
        FluentConfiguration all = configured().javaMigrations(new V5__Java());
        all.getPluginRegister().getExact(PostgreSQLConfigurationExtension.class).setTransactionalLock(false);
        return all;
    }

    private static List<String> versions(MigrationInfo[] infos) {
        return Arrays.stream(infos).map(info -> String.valueOf(info.getVersion())).toList();
    }

    private void migrates() throws Exception {
        MigrateResult result = first().load().migrate();
        Parts.same(true, result.success);
        Parts.same(4, result.migrationsExecuted);
        Parts.same(List.of("Ann|10.50", "Bob; Sons|10.50"), Parts.rows("SELECT * FROM totals ORDER BY name"));
        Parts.same(List.of("green|{\"litres\": 2}"), Parts.rows("SELECT colour, details FROM paints"));
    }

    private void migratesAgain() {
        MigrateResult result = first().load().migrate();
        Parts.same(0, result.migrationsExecuted);
        Parts.same("3", result.initialSchemaVersion);
    }

    private void hasInformation() throws Exception {
        var info = first().load().info();
        Parts.same("3", info.current().getVersion().toString());
        Parts.same(List.of("1", "2", "3", "null"), versions(info.applied()));
        Parts.same(0, info.pending().length);
        Parts.same("tester", info.current().getInstalledBy());
        Parts.same(
                List.of("1|SQL|true", "2|SQL|true", "3|SQL|true", "null|SQL|true"),
                Parts.rows("SELECT version, type, success FROM flyway_history ORDER BY installed_rank")
                        .stream().map(row -> row.replaceFirst("t$", "true")).toList());
    }

    private void migratesWhatIsNew() throws Exception {
        Flyway flyway = all().target("5.1").load();
        Parts.same(List.of("4", "5", "5.1"), versions(flyway.info().pending()));
        // A migration that is not in a transaction is the only one of its group.
        Parts.same(3, flyway.migrate().migrationsExecuted);
        Parts.same(List.of("1", "5", "6", "7"), Parts.rows("SELECT litres FROM paints ORDER BY litres"));
    }

    private void undoesBroken() throws Exception {
        Flyway flyway = all().load();
        try {
            flyway.migrate();
            throw new AssertionError("a broken migration succeeded");
        } catch (FlywayException error) {
            Parts.same(true, error.getMessage().contains("42P01"));
        }
        Parts.same("5.1", all().load().info().current().getVersion().toString());
        Parts.same(List.of("0"), Parts.rows("SELECT count(*) FROM pg_class WHERE relname = 'half'"));
    }

    private void validatesAndRepairs() throws Exception {
        Flyway flyway = all().target("5.1").load();
        flyway.validate();
        try (var connection = Parts.connect(); var statement = connection.createStatement()) {
            Parts.same(1, statement.executeUpdate("UPDATE flyway_history SET checksum = 1 WHERE version = '1'"));
        }
        Parts.same(false, flyway.validateWithResult().validationSuccessful);
        Parts.same(List.of("1"), flyway.repair().migrationsAligned.stream().map(each -> each.version).toList());
        Parts.same(true, flyway.validateWithResult().validationSuccessful);
    }

    private void ownSchema() throws Exception {
        FluentConfiguration own = first().schemas("own").createSchemas(true);
        Parts.same(4, own.load().migrate().migrationsExecuted);
        Parts.same(0, own.load().migrate().migrationsExecuted);
        Parts.same(List.of("2"), Parts.rows("SELECT count(*) FROM own.shops"));
        Parts.same("3", own.load().info().current().getVersion().toString());
    }

    private void baseline() throws Exception {
        FluentConfiguration other = all().table("flyway_other").baselineVersion("4").target("5.1");
        other.load().baseline();
        Parts.same(List.of("5", "5.1", "null"), versions(other.load().info().pending()));
        Parts.same(List.of("BASELINE"), Parts.rows("SELECT type FROM flyway_other"));
    }

    /** The session's path is set when it connects, and Flyway does not change it. */
    private void schemaOfThePath() throws Exception {
        FluentConfiguration path = first().schemas("path").initSql("SET search_path = path, public").cleanDisabled(false);
        Parts.same(4, path.load().migrate().migrationsExecuted);
        Parts.same(0, path.load().migrate().migrationsExecuted);
        Parts.same(List.of("2"), Parts.rows("SELECT count(*) FROM path.shops"));
        path.load().clean();
        Parts.same(List.of("0"), Parts.rows("SELECT count(*) FROM pg_namespace WHERE nspname = 'path'"));
    }

    private void cleansOwn() throws Exception {
        first().schemas("own").cleanDisabled(false).load().clean();
        Parts.same(List.of("0"), Parts.rows("SELECT count(*) FROM pg_namespace WHERE nspname = 'own'"));
    }

    private void cleans() throws Exception {
        FluentConfiguration whole = first().cleanDisabled(false);
        whole.load().clean();
        Parts.same(List.of("0"), Parts.rows("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"));
        Parts.same(4, whole.load().migrate().migrationsExecuted);
        whole.load().clean();
    }
}
