import jakarta.persistence.Tuple;
import jakarta.persistence.criteria.JoinType;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.hibernate.ScrollMode;
import org.hibernate.SessionFactory;

/** Queries of WithHibernate: HQL, criteria, native ones, and statements that change many rows. */
final class WithHibernateQueries {
    private final SessionFactory sessions;

    private WithHibernateQueries(SessionFactory sessions) {
        this.sessions = sessions;
    }

    static void parts(SessionFactory sessions) {
        WithHibernateQueries program = new WithHibernateQueries(sessions);
        Parts.part("queries: joins and groups", program::joins);
        Parts.part("queries: functions", program::functions);
        Parts.part("queries: windows and common tables", program::windows);
        Parts.part("queries: pages", program::pages);
        Parts.part("queries: criteria", program::criteria);
        Parts.part("queries: native", program::natives);
        Parts.part("queries: changes of many rows", program::bulk);
        Parts.part("queries: upserts", program::upserts);
        Parts.part("queries: batches without a session", program::batches);
    }

    private void joins() {
        sessions.inTransaction(session -> {
            var fetched = session.createQuery(
                            "select distinct s from Shop s left join fetch s.sales"
                                    + " where s.address.city = ?1 order by s.name",
                            HibernateModel.Shop.class)
                    .setParameter(1, "Bonn")
                    .getResultList();
            Parts.same(List.of(2, 1), fetched.stream().map(shop -> shop.sales.size()).toList());
            var totals = session.createQuery(
                            "select s.name as name, sum(x.amount) as total, count(x) as n, avg(x.weight) as mean"
                                    + " from Shop s join s.sales x group by s.name"
                                    + " having sum(x.amount) > :least order by 2 desc",
                            Tuple.class)
                    .setParameter("least", new BigDecimal("5"))
                    .getResultList();
            Parts.same(1, totals.size());
            Parts.same(new BigDecimal("12.75"), totals.get(0).get("total"));
            Parts.same(2L, totals.get(0).get("n"));
            Parts.same(0.1, totals.get(0).get("mean"));
            var without = session.createQuery(
                            "select p.code from Product p where not exists"
                                    + " (select 1 from Sale x join x.products q where q = p)"
                                    + " and type(p) = Book and p.code in (:codes)",
                            String.class)
                    .setParameterList("codes", List.of("b1", "b2"))
                    .getResultList();
            Parts.same(List.of("b1"), without);
            var tagged = session.createQuery("select name from Shop where 'größer' member of tags", String.class);
            Parts.same(List.of("Ann's"), tagged.getResultList());
        });
    }

    private void functions() {
        sessions.inTransaction(session -> {
            var row = session.createQuery(
                            "select upper(s.name), coalesce(s.address.street, 'none'), length(s.name), s.name || '!',"
                                    + " substring(s.name, 1, 3), locate('n', s.name), cast(s.id as String),"
                                    + " year(x.day), extract(month from x.day), x.day + 3 day, floor(x.weight),"
                                    + " mod(s.id, 2), case s.kind when MARKET then 1 else 2 end, nullif(x.paid, false),"
                                    + " round(x.amount, 1) from Sale x join x.shop s where x.amount = 10.50"
                                    + " and s.createdAt <= current_timestamp and lower(s.name) like 'ann%' and x.day between {2024-01-01} and {2024-12-31}",
                            Object[].class)
                    .getSingleResult();
            Parts.same(
                    "[ANN'S, High Street, 5, Ann's!, Ann, 2, 1, 2024, 5, 2024-05-04, 0.0, 1, 1, true, 10.5]",
                    Arrays.toString(row).replace("10.50", "10.5"));
            var marks = session.createQuery(
                            "select array_length(x.marks), array_contains(x.marks, 3)"
                                    + " from Sale x where x.marks is not null",
                            Object[].class)
                    .getSingleResult();
            Parts.same("[3, true]", Arrays.toString(marks));
            String names = "select listagg(s.name, ', ') within group (order by s.name) from Shop s";
            Parts.same("Ann's, Bob", session.createQuery(names, String.class).getSingleResult());
            String every = "select every(s.createdAt is not null) from Shop s";
            Parts.same(true, session.createQuery(every, Boolean.class).getSingleResult());
        });
    }

    private void windows() {
        sessions.inTransaction(session -> {
            var ranks = session.createQuery(
                            "select x.amount, row_number() over (partition by x.shop.id order by x.amount) as place,"
                                    + " sum(x.amount) over (order by x.amount) as running from Sale x order by x.amount",
                            Object[].class)
                    .getResultList();
            Parts.same(
                    List.of("[2.25, 1, 2.25]", "[5.00, 1, 7.25]", "[10.50, 2, 17.75]"),
                    ranks.stream().map(Arrays::toString).toList());
            var best = session.createQuery(
                            "with best as (select x.shop.id as shop, max(x.amount) as top from Sale x group by x.shop.id)"
                                    + " select s.name, b.top from best b join Shop s on s.id = b.shop order by b.top",
                            Object[].class)
                    .getResultList();
            Parts.same(List.of("[Bob, 5.00]", "[Ann's, 10.50]"), best.stream().map(Arrays::toString).toList());
            var both = session.createQuery(
                            "select s.name from Shop s union all select p.code from Product p order by 1", String.class);
            Parts.same(List.of("Ann's", "Bob", "b1", "p1"), both.getResultList());
        });
    }

    private void pages() {
        sessions.inTransaction(session -> {
            var query = session.createQuery("from Sale order by amount desc nulls last", HibernateModel.Sale.class);
            query.setFirstResult(1).setMaxResults(1);
            Parts.same(new BigDecimal("5.00"), query.getSingleResult().amount);
            Parts.same(3L, query.getResultCount());
            try (var scroll = session.createQuery("from Sale order by id", HibernateModel.Sale.class)
                    .setFetchSize(2)
                    .scroll(ScrollMode.FORWARD_ONLY)) {
                int seen = 0;
                while (scroll.next()) {
                    seen += scroll.get().amount.signum();
                }
                Parts.same(3, seen);
            }
        });
    }

    private void criteria() {
        sessions.inTransaction(session -> {
            var builder = session.getCriteriaBuilder();
            var query = builder.createQuery(HibernateModel.Shop.class);
            var shop = query.from(HibernateModel.Shop.class);
            shop.fetch("sales", JoinType.LEFT);
            query.select(shop)
                    .where(builder.and(
                            builder.like(builder.lower(shop.get("name")), "%b%"),
                            shop.get("kind").in(HibernateModel.Kind.STALL),
                            builder.isNotNull(shop.get("createdAt"))))
                    .orderBy(builder.asc(shop.get("name")));
            Parts.same("Bob", session.createQuery(query).getSingleResult().name);
            var totals = builder.createTupleQuery();
            var sale = totals.from(HibernateModel.Sale.class);
            totals.multiselect(sale.get("paid"), builder.sum(sale.<BigDecimal>get("amount")))
                    .groupBy(sale.get("paid"))
                    .orderBy(builder.desc(sale.get("paid")));
            var rows = session.createQuery(totals).getResultList();
            Parts.same("[[true, 10.50], [false, 7.25]]", rows.stream().map(row -> Arrays.toString(row.toArray())).toList().toString());
            var update = builder.createCriteriaUpdate(HibernateModel.Sale.class);
            var changed = update.from(HibernateModel.Sale.class);
            update.set("weight", 2.5).where(builder.gt(changed.get("amount"), 9));
            Parts.same(1, session.createMutationQuery(update).executeUpdate());
        });
    }

    private void natives() {
        sessions.inTransaction(session -> {
            var sales = session.createNativeQuery("SELECT * FROM sales WHERE amount > :least", HibernateModel.Sale.class);
            Parts.same(2, sales.setParameter("least", 3).getResultList().size());
            var count = session.createNativeQuery("SELECT count(*) FROM shops s JOIN sales x ON x.shop_id = s.id", Long.class);
            Parts.same(3L, count.getSingleResult());
        });
    }

    private void bulk() {
        sessions.inTransaction(session -> {
            Parts.same(2, session.createMutationQuery("update Sale set paid = true where not paid").executeUpdate());
            Parts.same(
                    2,
                    session.createMutationQuery("update versioned Shop s set s.address.city = upper(s.address.city)"
                                    + " where exists (select 1 from Sale x where x.shop = s)")
                            .executeUpdate());
            Parts.same(
                    2,
                    session.createMutationQuery("insert into Setting (name, value) select s.name, s.address.city from Shop s")
                            .executeUpdate());
            Parts.same(1, session.createMutationQuery("delete from Setting where name = 'Bob'").executeUpdate());
            Parts.same(1, session.createMutationQuery("delete Product p where type(p) = Book").executeUpdate());
        });
    }

    private void upserts() {
        sessions.inTransaction(session -> {
            String upsert = "insert into Setting (name, value) values (:name, :value)"
                    + " on conflict (name) do update set value = excluded.value";
            for (String value : List.of("first", "second")) {
                session.createMutationQuery(upsert)
                        .setParameter("name", "upserted")
                        .setParameter("value", value)
                        .executeUpdate();
            }
            String nothing = "insert into Setting (name, value) values ('upserted', 'third') on conflict (name) do nothing";
            Parts.same(0, session.createMutationQuery(nothing).executeUpdate());
            Parts.same("second", session.find(HibernateModel.Setting.class, "upserted").value);
        });
        for (String value : List.of("new", "newer")) {
            sessions.inStatelessTransaction(session -> session.upsert(new HibernateModel.Setting("merged", value)));
        }
        sessions.inTransaction(
                session -> Parts.same("newer", session.find(HibernateModel.Setting.class, "merged").value));
    }

    private void batches() {
        sessions.inStatelessTransaction(session -> {
            session.setJdbcBatchSize(25);
            List<HibernateModel.Setting> settings = new ArrayList<>();
            for (int number = 0; number < 100; number++) {
                settings.add(new HibernateModel.Setting("batch" + number, UUID.randomUUID().toString()));
            }
            session.insertMultiple(settings);
            settings.forEach(setting -> setting.value = "changed");
            session.updateMultiple(settings);
            session.deleteMultiple(settings.subList(0, 90));
        });
        sessions.inTransaction(session -> {
            var count = session.createQuery("select count(*) from Setting where value = 'changed'", Long.class);
            Parts.same(10L, count.getSingleResult());
        });
    }
}
