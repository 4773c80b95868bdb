import jakarta.persistence.LockModeType;
import jakarta.persistence.OptimisticLockException;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;
import org.hibernate.exception.ConstraintViolationException;

/** Hibernate ORM: schemas by hbm2ddl, entities of HibernateModel, HQL, criteria, locks and batches. */
public final class WithHibernate {
    private static final Class<?>[] ENTITIES = {
        HibernateModel.Shop.class,
        HibernateModel.Sale.class,
        HibernateModel.Product.class,
        HibernateModel.Book.class,
        HibernateModel.Setting.class,
    };

    /** A logger is forgotten unless somebody refers to it. */
    private static final Logger SQL = Logger.getLogger("org.hibernate.SQL");

    /** The statements since the last factory was made. */
    private final List<String> statements = new ArrayList<>();

    private SessionFactory sessions;

    public static void main(String[] arguments) {
        WithHibernate program = new WithHibernate();
        program.listens();
        Parts.part("updates an empty schema", program::updates);
        Parts.part("updates the schema again", program::updatesAgain);
        Parts.part("has nothing to update then", program::nothingToUpdate);
        Parts.part("validates", program::validates);
        program.sessions = program.factory("none", ENTITIES);
        Parts.part("persists and finds", program::persists);
        Parts.part("changes what has changed", program::changes);
        Parts.part("removes orphans", program::removes);
        Parts.part("rolls back", program::rollsBack);
        Parts.part("sees a name that comes twice", program::twice);
        Parts.part("sees stale versions", program::stale);
        Parts.part("locks a row", program::locks);
        WithHibernateQueries.parts(program.sessions);
        program.sessions.close();
        Parts.part("adds columns", program::addsColumns);
        Parts.part("goes on without constraints", program::constraints);
        Parts.part("has enumerations of the database", program::enumerations);
        Parts.part("creates and drops", program::createsAndDrops);
    }

    /** Collects what Hibernate logs as SQL. */
    private void listens() {
        SQL.setLevel(Level.FINE);
        SQL.addHandler(new Handler() {
            @Override
            public void publish(LogRecord record) {
                statements.add(record.getMessage());
                System.out.println("SQL " + record.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        });
    }

    private static Configuration configured(String action, Class<?>... entities) {
        Configuration configuration = new Configuration();
        for (Class<?> entity : entities) {
            configuration.addAnnotatedClass(entity);
        }
        return configuration
                .setProperty("hibernate.connection.url", Parts.url())
                .setProperty("hibernate.connection.username", Parts.user())
                .setProperty("hibernate.hbm2ddl.auto", action)
                .setProperty("hibernate.hbm2ddl.halt_on_error", "true")
                .setProperty("hibernate.jdbc.batch_size", "20")
                .setProperty("hibernate.order_inserts", "true");
    }

    private SessionFactory factory(String action, Class<?>... entities) {
        statements.clear();
        return configured(action, entities).buildSessionFactory();
    }

    private void updates() throws Exception {
        factory("update", ENTITIES).close();
        Parts.same(true, statements.size() > 8);
        Parts.same(
                List.of("products", "sale_products", "sales", "settings", "shop_tags", "shops"),
                Parts.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"));
    }

    private void updatesAgain() {
        factory("update", ENTITIES).close();
    }

    private void nothingToUpdate() {
        factory("update", ENTITIES).close();
        Parts.same(List.of(), statements);
    }

    private void validates() {
        factory("validate", ENTITIES).close();
    }

    private void persists() {
        sessions.inTransaction(session -> {
            HibernateModel.Shop shop = new HibernateModel.Shop("Ann's", "Köln");
            shop.tags.addAll(List.of("old", "größer"));
            HibernateModel.Sale sale = shop.sells("10.50");
            sale.took = Duration.ofMillis(1500);
            sale.mood = HibernateModel.Mood.BAD;
            sale.details = Map.of("paper", "brown");
            sale.picture = new byte[] {0, 1, (byte) 255};
            sale.marks = Arrays.asList(1, null, 3);
            sale.weight = 0.1;
            sale.products.add(new HibernateModel.Book("b1", 300));
            sale.products.add(new HibernateModel.Product("p1", "a pen"));
            sale.products.forEach(session::persist);
            shop.sells("2.25");
            session.persist(shop);
            HibernateModel.Shop second = new HibernateModel.Shop("Bob", "Bonn");
            second.kind = HibernateModel.Kind.STALL;
            second.sells("5.00");
            session.persist(second);
            Parts.same(true, shop.id > 0 && second.id > shop.id);
        });
        sessions.inTransaction(session -> {
            HibernateModel.Shop shop = session.find(HibernateModel.Shop.class, 1L);
            Parts.same("Köln", shop.address.city);
            Parts.same(Set.of("old", "größer"), Set.copyOf(shop.tags));
            Parts.same(true, shop.createdAt != null && shop.updatedAt != null);
            Parts.same(2, shop.sales.size());
            HibernateModel.Sale sale = shop.sales.get(0);
            Parts.same(new BigDecimal("10.50"), sale.amount);
            Parts.same(Duration.ofMillis(1500), sale.took);
            Parts.same(HibernateModel.Mood.BAD, sale.mood);
            Parts.same(Map.of("paper", "brown"), sale.details);
            Parts.same(true, Arrays.equals(new byte[] {0, 1, (byte) 255}, sale.picture));
            Parts.same(Arrays.asList(1, null, 3), sale.marks);
            Parts.same(LocalDate.of(2024, 5, 1), sale.day);
            Parts.same(2, sale.products.size());
            HibernateModel.Product book = session.bySimpleNaturalId(HibernateModel.Product.class).load("b1");
            Parts.same(300, ((HibernateModel.Book) book).pages);
        });
    }

    private void changes() {
        sessions.inTransaction(session -> {
            HibernateModel.Shop shop = session.find(HibernateModel.Shop.class, 1L);
            shop.address.city = "Bonn";
            shop.tags.remove("old");
            shop.sales.get(0).paid = true;
            shop.sales.get(0).products.removeIf(product -> product instanceof HibernateModel.Book);
        });
        sessions.inTransaction(session -> {
            HibernateModel.Shop shop = session.find(HibernateModel.Shop.class, 1L);
            Parts.same("Bonn", shop.address.city);
            Parts.same(1, shop.version);
            Parts.same(Set.of("größer"), Set.copyOf(shop.tags));
            Parts.same(true, shop.sales.get(0).paid);
            Parts.same(1, shop.sales.get(0).products.size());
        });
        // What was read in another session is merged.
        HibernateModel.Shop detached = sessions.fromSession(session -> session.find(HibernateModel.Shop.class, 2L));
        detached.address = new HibernateModel.Address(null, "Bonn");
        sessions.inTransaction(session -> session.merge(detached));
    }

    private void removes() {
        sessions.inTransaction(session -> {
            HibernateModel.Shop shop = new HibernateModel.Shop("Cid", "Ulm");
            shop.sells("1.00");
            shop.sells("2.00");
            session.persist(shop);
        });
        sessions.inTransaction(session -> {
            var query = session.createQuery("from Shop where name = :name", HibernateModel.Shop.class);
            query.setParameter("name", "Cid").getSingleResult().sales.remove(0);
        });
        sessions.inTransaction(session -> {
            String count = "select count(*) from Sale where shop.name = 'Cid'";
            Parts.same(1L, session.createQuery(count, Long.class).getSingleResult());
            session.remove(session.createQuery("from Shop where name = 'Cid'", HibernateModel.Shop.class)
                    .getSingleResult());
            Parts.same(0L, session.createQuery(count, Long.class).getSingleResult());
        });
    }

    private void rollsBack() {
        sessions.inSession(session -> {
            session.beginTransaction();
            session.persist(new HibernateModel.Setting("colour", "red"));
            session.flush();
            session.getTransaction().rollback();
        });
        sessions.inTransaction(session -> Parts.same(null, session.find(HibernateModel.Setting.class, "colour")));
    }

    private void twice() {
        HibernateModel.Shop second = new HibernateModel.Shop("Bob", "Ulm");
        try {
            sessions.inTransaction(session -> session.persist(second));
            sessions.inTransaction(session -> session.remove(session.merge(second)));
            throw new AssertionError("a name came twice");
        } catch (ConstraintViolationException error) {
            Parts.same("23505", error.getSQLState());
            Parts.same(ConstraintViolationException.ConstraintKind.UNIQUE, error.getKind());
        }
    }

    private void stale() {
        sessions.inTransaction(session -> {
            HibernateModel.Shop shop = session.find(HibernateModel.Shop.class, 2L, LockModeType.OPTIMISTIC);
            sessions.inTransaction(other -> other.find(HibernateModel.Shop.class, 2L).address.street = "Low Street");
            session.evict(shop);
        });
        HibernateModel.Shop old = sessions.fromSession(session -> session.find(HibernateModel.Shop.class, 2L));
        sessions.inTransaction(session -> session.find(HibernateModel.Shop.class, 2L).address.street = "New Street");
        try {
            old.address.street = "Lost Street";
            sessions.inTransaction(session -> session.merge(old));
            throw new AssertionError("a stale version was written");
        } catch (OptimisticLockException error) {
            Parts.same(true, error.getMessage().contains("Shop"));
        }
    }

    private void locks() {
        sessions.inTransaction(session -> {
            HibernateModel.Shop shop = session.find(HibernateModel.Shop.class, 2L, LockModeType.PESSIMISTIC_WRITE);
            shop.address.street = "Locked Street";
        });
    }

    private void addsColumns() throws Exception {
        Class<?> later = HibernateModel.LaterSetting.class;
        factory("update", later).close();
        Parts.same(3L, statements.stream().filter(statement -> statement.contains("add column")).count());
        factory("update", later).close();
        Parts.same(0L, statements.stream().filter(statement -> statement.contains("add column")).count());
        factory("validate", later).close();
        sessions = factory("none", later);
        sessions.inTransaction(session -> {
            HibernateModel.LaterSetting setting = session.find(HibernateModel.LaterSetting.class, "merged");
            Parts.same(null, setting.unit);
            setting.factor = new BigDecimal("1.25");
        });
        sessions.inTransaction(session -> Parts.same(
                new BigDecimal("1.25"), session.find(HibernateModel.LaterSetting.class, "merged").factor));
        sessions.close();
    }

    /** As it is without `halt_on_error`: a statement that fails is logged. */
    private void constraints() {
        for (int run = 0; run < 2; run++) {
            Configuration configuration =
                    configured("update", HibernateModel.Parent.class, HibernateModel.Child.class);
            configuration.setProperty("hibernate.hbm2ddl.halt_on_error", "false");
            try (SessionFactory factory = configuration.buildSessionFactory()) {
                factory.inTransaction(session -> {
                    HibernateModel.Parent parent = new HibernateModel.Parent();
                    HibernateModel.Child child = new HibernateModel.Child();
                    child.parent = parent;
                    parent.children.add(child);
                    session.persist(parent);
                });
                factory.inTransaction(session -> {
                    String query = "select c.parent.id from Child c join c.parent order by c.id";
                    Parts.same(true, session.createQuery(query, Integer.class).getResultList().size() > 0);
                });
            }
        }
    }

    private void enumerations() {
        Configuration configuration = configured("create-drop", HibernateModel.Diary.class);
        configuration.setProperty("hibernate.hbm2ddl.halt_on_error", "false");
        try (SessionFactory factory = configuration.buildSessionFactory()) {
            LocalDate first = LocalDate.of(2024, 5, 1);
            factory.inTransaction(session -> {
                session.persist(new HibernateModel.Diary(first, HibernateModel.Mood.GOOD));
                session.persist(new HibernateModel.Diary(first.plusDays(1), HibernateModel.Mood.BAD));
            });
            factory.inTransaction(session -> {
                String query = "from Diary where mood = 'BAD' or mood = :mood order by mood";
                var moods = session.createQuery(query, HibernateModel.Diary.class)
                        .setParameter("mood", HibernateModel.Mood.GOOD)
                        .getResultList();
                Parts.same(
                        List.of(HibernateModel.Mood.BAD, HibernateModel.Mood.GOOD),
                        moods.stream().map(diary -> diary.mood).toList());
            });
        }
    }

    private void createsAndDrops() throws Exception {
        factory("create-drop", ENTITIES).close();
        Parts.same(
                List.of("0"),
                Parts.rows("SELECT count(*) FROM pg_class WHERE relname IN ('shops', 'sales', 'sales_seq')"));
    }
}
