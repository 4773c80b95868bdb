import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.command.CommandScope;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.diff.compare.CompareControl;
import liquibase.exception.LiquibaseException;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.snapshot.DatabaseSnapshot;
import liquibase.snapshot.SnapshotControl;
import liquibase.snapshot.SnapshotGeneratorFactory;
import liquibase.structure.core.Column;
import liquibase.structure.core.ForeignKey;
import liquibase.structure.core.Index;
import liquibase.structure.core.PrimaryKey;
import liquibase.structure.core.Sequence;
import liquibase.structure.core.Table;
import liquibase.structure.core.View;

/** Liquibase: changelogs in XML, YAML and SQL, rollbacks, tags, contexts, snapshots and dropAll. */
public final class WithLiquibase {
    private interface Work {
        void with(Liquibase liquibase) throws Exception;
    }

    private static final Contexts PLAIN = new Contexts("plain");
    private static final String APPLIED = "SELECT count(*) FROM databasechangelog";

    private final Path folder;

    private WithLiquibase(String folder) {
        this.folder = Path.of(folder, "liquibase");
    }

    public static void main(String[] arguments) {
        WithLiquibase program = new WithLiquibase(arguments[0]);
        Parts.part("updates", program::updates);
        Parts.part("updates again", program::updatesAgain);
        Parts.part("knows its contexts", program::contexts);
        Parts.part("has a status", program::status);
        Parts.part("writes SQL", program::writesSql);
        Parts.part("rolls back to a tag and updates", program::rollsBack);
        Parts.part("undoes a broken change", program::undoesBroken);
        Parts.part("releases its lock", program::locks);
        Parts.part("takes a snapshot", program::snapshot);
        Parts.part("generates a changelog", program::generates);
        Parts.part("adds a unique constraint", program::addsUnique);
        Parts.part("drops a unique constraint", program::dropsUnique);
        Parts.part("adds a foreign key", program::addsKey);
        Parts.part("drops all", program::dropsAll);
    }

    /** With a connection of its own, as each run of the tool has. */
    private void with(String changelog, Work work) throws Exception {
        Database database = DatabaseFactory.getInstance()
                .findCorrectDatabaseImplementation(new JdbcConnection(Parts.connect()));
        try (Liquibase liquibase = new Liquibase(changelog, new DirectoryResourceAccessor(folder), database)) {
            work.with(liquibase);
        }
    }

    private void update(String changelog) throws Exception {
        with(changelog, liquibase -> liquibase.update(PLAIN));
    }

    private void updates() throws Exception {
        update("changes.xml");
        Parts.same(List.of("12"), Parts.rows(APPLIED));
        Parts.same(
                List.of("1|Ann's|2024-05-01", "2|Bob|2024-06-01", "3|Cid|2024-07-01"),
                Parts.rows("SELECT id, name, opened FROM shops ORDER BY id"));
        Parts.same(
                List.of("1|10.50|t|Ann's first", "2|10.50|f|first"),
                Parts.rows("SELECT shop_id, amount, paid, note FROM sales ORDER BY id"));
        Parts.same(List.of("one; two|1"), Parts.rows("SELECT text, size FROM remarks"));
        Parts.same(List.of("Ann's|10.50", "Bob|10.50"), Parts.rows("SELECT * FROM totals ORDER BY 1"));
        Parts.same(List.of("green|{\"litres\": 2}"), Parts.rows("SELECT colour, details FROM paints"));
        Parts.same(List.of("10"), Parts.rows("SELECT nextval('numbers')"));
    }

    private void updatesAgain() throws Exception {
        update("changes.xml");
        Parts.same(List.of("12"), Parts.rows(APPLIED));
        // Only the change that runs always.
        Parts.same(List.of("2"), Parts.rows("SELECT size FROM remarks"));
    }

    private void contexts() throws Exception {
        with("changes.xml", liquibase -> liquibase.update(new Contexts("test")));
        Parts.same(List.of("13"), Parts.rows(APPLIED));
        with("changes.xml", liquibase -> liquibase.rollback(2, "test"));
        Parts.same(List.of("11"), Parts.rows(APPLIED));
        update("changes.xml");
        Parts.same(List.of("0"), Parts.rows("SELECT count(*) FROM shops WHERE name = 'Test'"));
    }

    private void status() throws Exception {
        with("changes.xml", liquibase -> {
            liquibase.validate();
            // The change that runs always.
            Parts.same(1, liquibase.listUnrunChangeSets(PLAIN, new LabelExpression()).size());
            Parts.same(true, liquibase.tagExists("first"));
            Parts.same(false, liquibase.tagExists("nothing"));
            liquibase.tag("now");
            Parts.same(true, liquibase.tagExists("now"));
            liquibase.clearCheckSums();
        });
        update("changes.xml");
        Parts.same(List.of("0"), Parts.rows(APPLIED + " WHERE md5sum IS NULL"));
    }

    private void writesSql() throws Exception {
        with("changes.xml", liquibase -> {
            StringWriter update = new StringWriter();
            liquibase.update(PLAIN, new LabelExpression(), update);
            Parts.same(true, update.toString().contains("UPDATE remarks SET size = size + 1"));
            StringWriter rollback = new StringWriter();
            liquibase.rollback("first", PLAIN, rollback);
            Parts.same(true, rollback.toString().contains("DROP TABLE paints"));
        });
    }

    private void rollsBack() throws Exception {
        with("changes.xml", liquibase -> liquibase.rollback("first", PLAIN));
        String tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1";
        Parts.same(List.of("databasechangelog", "databasechangeloglock", "sales", "shops"), Parts.rows(tables));
        update("changes.xml");
        Parts.same(List.of("12"), Parts.rows(APPLIED));
        with("changes.xml", liquibase -> liquibase.rollback(12, null));
        Parts.same(List.of("databasechangelog", "databasechangeloglock"), Parts.rows(tables));
        update("changes.xml");
        Parts.same(List.of("2"), Parts.rows("SELECT count(*) FROM totals"));
    }

    private void undoesBroken() throws Exception {
        try {
            update("broken.yaml");
            throw new AssertionError("a broken change succeeded");
        } catch (LiquibaseException error) {
            Parts.same(true, error.getMessage().contains("nowhere"));
        }
        Parts.same(List.of("0"), Parts.rows("SELECT count(*) FROM pg_class WHERE relname = 'half'"));
        Parts.same(List.of("12"), Parts.rows(APPLIED));
    }

    private void locks() throws Exception {
        with("changes.xml", liquibase -> {
            Parts.same(0, liquibase.listLocks().length);
            liquibase.forceReleaseLocks();
        });
        Parts.same(List.of("1|f|null"), Parts.rows("SELECT id, locked, lockedby FROM databasechangeloglock"));
    }

    private void snapshot() throws Exception {
        with("changes.xml", liquibase -> {
            Database database = liquibase.getDatabase();
            DatabaseSnapshot snapshot = SnapshotGeneratorFactory.getInstance()
                    .createSnapshot(database.getDefaultSchema(), database, new SnapshotControl(database));
            Parts.same(
                    List.of("paints", "remarks", "sales", "shops"),
                    snapshot.get(Table.class).stream().map(Table::getName)
                            .filter(name -> !name.startsWith("databasechangelog")).sorted().toList());
            Parts.same(
                    List.of("big_sales", "totals"),
                    snapshot.get(View.class).stream().map(View::getName).sorted().toList());
            Table sales = snapshot.get(Table.class).stream()
                    .filter(table -> table.getName().equals("sales")).findFirst().get();
            Parts.same(
                    List.of("id", "shop_id", "amount", "paid", "note", "picture", "code"),
                    sales.getColumns().stream().map(Column::getName).toList());
            Parts.same("how much", sales.getColumn("amount").getRemarks());
            Parts.same(true, sales.getColumn("id").isAutoIncrement());
            Parts.same(false, sales.getColumn("shop_id").isNullable());
            Parts.same(1, snapshot.get(ForeignKey.class).size());
            Parts.same("shops", snapshot.get(ForeignKey.class).iterator().next().getPrimaryKeyTable().getName());
            Parts.same(true, snapshot.get(Index.class).stream().anyMatch(index -> index.getName().equals("sales_shop_id")));
            Parts.same(true, snapshot.get(PrimaryKey.class).size() >= 4);
            Parts.same(true, snapshot.get(Sequence.class).stream().anyMatch(each -> each.getName().equals("numbers")));
        });
    }

    private void generates() throws Exception {
        with("changes.xml", liquibase -> {
            Database database = liquibase.getDatabase();
            Path made = Files.createTempDirectory("liquibase").resolve("made.xml");
            new CommandScope("generateChangelog")
                    .addArgumentValue("database", database)
                    .addArgumentValue("changelogFile", made.toString())
                    .execute();
            String changelog = Files.readString(made);
            for (String part : List.of("tableName=\"shops\"", "viewName=\"big_sales\"", "sequenceName=\"numbers\"")) {
                Parts.same(true, changelog.contains(part));
            }
            // The database has no differences from itself.
            var difference = liquibase.diff(database, database, CompareControl.STANDARD);
            Parts.same(true, difference.areEqual());
        });
    }

    private void addsUnique() throws Exception {
        update("constraints.yaml");
        try (var connection = Parts.connect(); var statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO remarks (text) VALUES ('one; two')");
            throw new AssertionError("a text came twice");
        } catch (SQLException error) {
            Parts.same("23505", error.getSQLState());
        }
    }

    private void dropsUnique() throws Exception {
        with("constraints.yaml", liquibase -> liquibase.rollback(1, null));
        Parts.same(List.of("12"), Parts.rows(APPLIED));
    }

    private void addsKey() throws Exception {
        update("keys.yaml");
        with("keys.yaml", liquibase -> liquibase.rollback(1, null));
    }

    private void dropsAll() throws Exception {
        with("changes.xml", Liquibase::dropAll);
        Parts.same(List.of("0"), Parts.rows("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"));
        update("changes.xml");
        Parts.same(List.of("12"), Parts.rows(APPLIED));
        with("changes.xml", Liquibase::dropAll);
    }
}
