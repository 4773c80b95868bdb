import static org.jooq.impl.DSL.*;
import static org.jooq.impl.SQLDataType.*;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import org.jooq.CloseableDSLContext;
import org.jooq.Field;
import org.jooq.JSONB;
import org.jooq.Record;
import org.jooq.Record1;
import org.jooq.Result;
import org.jooq.Table;
import org.jooq.exception.IntegrityConstraintViolationException;
import org.jooq.impl.DSL;

/** jOOQ's DSL in PostgreSQL's dialect: schema, inserts, upserts, changes, queries and transactions. */
public final class WithJooq {
    static final Table<Record> SHOPS = table(name("shops"));
    static final Field<Long> SHOP_ID = field(name("shops", "id"), BIGINT);
    static final Field<String> SHOP_NAME = field(name("shops", "name"), VARCHAR);
    static final Table<Record> SALES = table(name("sales"));
    static final Field<Integer> SALE_ID = field(name("sales", "id"), INTEGER);
    static final Field<Long> SALE_SHOP = field(name("sales", "shop_id"), BIGINT);
    static final Field<BigDecimal> AMOUNT = field(name("sales", "amount"), DECIMAL(9, 2));
    static final Field<String> NOTE = field(name("sales", "note"), CLOB);
    static final Field<LocalDate> DAY = field(name("sales", "day"), LOCALDATE);
    static final Field<JSONB> DETAILS = field(name("sales", "details"), JSONB);
    static final Field<String[]> TAGS = field(name("sales", "tags"), VARCHAR.array());

    private final CloseableDSLContext db;

    private WithJooq(CloseableDSLContext db) {
        this.db = db;
    }

    public static void main(String[] arguments) {
        try (CloseableDSLContext db = using(Parts.url(), Parts.user(), "")) {
            WithJooq program = new WithJooq(db);
            Parts.part("creates tables", program::creates);
            Parts.part("creates them if they are not there", program::createsAgain);
            Parts.part("inserts and returns", program::inserts);
            Parts.part("upserts", program::upserts);
            Parts.part("upserts a row that others refer to", program::upsertsReferred);
            Parts.part("updates and deletes", program::changes);
            Parts.part("merges", program::merges);
            Parts.part("changes a unique value of a row that others refer to", program::changesReferred);
            Parts.part("inserts many rows", program::batches);
            Parts.part("has values of many types", program::values);
            Parts.part("has arrays as parameters", program::arrays);
            Parts.part("commits and rolls back", program::transactions);
            Parts.part("goes back within a transaction", program::savepoints);
            Parts.part("says which error it was", program::errors);
            WithJooqQueries.parts(db);
            Parts.part("adds a column if it is not there", program::addsColumn);
            Parts.part("alters tables", program::alters);
        }
    }

    private void creates() {
        db.createTable("shops")
                .column("id", BIGINT.identity(true))
                .column("name", VARCHAR(80).notNull())
                .column("opened", LOCALDATE.notNull().default_(currentLocalDate()))
                .column("created_at", TIMESTAMPWITHTIMEZONE(6).default_(currentOffsetDateTime()))
                .constraints(constraint("shops_pk").primaryKey("id"), constraint("shops_name").unique("name"))
                .execute();
        db.createTable("sales")
                .column("id", INTEGER.identity(true))
                .column("shop_id", BIGINT.notNull())
                .column("amount", DECIMAL(9, 2).notNull())
                .column("note", CLOB)
                .column("day", LOCALDATE)
                .column("details", JSONB)
                .column("tags", VARCHAR.array())
                .primaryKey("id")
                .constraints(
                        constraint("sales_shop").foreignKey("shop_id").references("shops", "id"),
                        constraint("sales_amount").check(field("amount", DECIMAL).gt(BigDecimal.ZERO)))
                .execute();
        db.createIndex("sales_day").on("sales", "day").execute();
        db.createSequence("numbers").startWith(10).incrementBy(5).execute();
        db.createView("big_sales").as(select(SALE_ID, AMOUNT).from(SALES).where(AMOUNT.gt(new BigDecimal(9)))).execute();
        db.commentOnTable("shops").is("where").execute();
        db.commentOnColumn(AMOUNT).is("how much").execute();
        Parts.same(List.of(10L, 15L), List.of(db.nextval("numbers"), db.nextval("numbers")).stream()
                .map(Number::longValue).toList());
    }

    private void createsAgain() {
        db.createTableIfNotExists("shops").column("id", BIGINT).execute();
        db.createIndexIfNotExists("sales_day").on("sales", "day").execute();
        db.createSequenceIfNotExists("numbers").execute();
        db.createOrReplaceView("big_sales").as(select(SALE_ID, AMOUNT).from(SALES).where(AMOUNT.gt(new BigDecimal(9)))).execute();
        db.createSchemaIfNotExists("other").execute();
        db.dropSchemaIfExists("other").execute();
    }

    private void inserts() {
        Result<?> shops = db.insertInto(SHOPS, SHOP_NAME)
                .values("Ann's")
                .values("Bob")
                .returningResult(SHOP_ID, SHOP_NAME, field(name("opened"), LOCALDATE))
                .fetch();
        Parts.same(List.of("Ann's", "Bob"), shops.getValues(SHOP_NAME));
        Parts.same(LocalDate.class, shops.get(0).get("opened").getClass());
        Record1<Integer> sale = db.insertInto(SALES)
                .set(SALE_SHOP, 1L)
                .set(AMOUNT, new BigDecimal("10.50"))
                .set(DETAILS, org.jooq.JSONB.jsonb("{\"paper\": \"brown\", \"boxes\": [1, 2]}"))
                .set(TAGS, array(inline("old"), inline("größer")))
                .set(DAY, LocalDate.of(2024, 5, 1))
                .returningResult(SALE_ID)
                .fetchOne();
        Parts.same(1, sale.value1());
        Parts.same(
                2,
                db.insertInto(SALES, SALE_SHOP, AMOUNT, NOTE)
                        .select(select(SHOP_ID, inline(new BigDecimal("2.25")), SHOP_NAME.concat("!")).from(SHOPS))
                        .execute());
        Parts.same("Bob!", db.fetchValue(select(NOTE).from(SALES).where(SALE_ID.eq(3))));
    }

    private Long upserted(String name) {
        return db.insertInto(SHOPS, SHOP_NAME)
                .values(name)
                .onConflict(field(name("name")))
                .doUpdate()
                .set(field(name("opened"), LOCALDATE), DSL.excluded(field(name("opened"), LOCALDATE)))
                .returningResult(SHOP_ID)
                .fetchOne()
                .value1();
    }

    private void upsertsReferred() {
        Parts.same(2L, upserted("Bob"));
    }

    private void upserts() {
        db.insertInto(SHOPS, SHOP_NAME).values("Cid").execute();
        Parts.same(3L, upserted("Cid"));
        Parts.same(1, db.deleteFrom(SHOPS).where(SHOP_NAME.eq("Cid")).execute());
        Parts.same(
                0,
                db.insertInto(SHOPS, SHOP_ID, SHOP_NAME).values(2L, "Cid").onConflictDoNothing().execute());
        Parts.same(
                1,
                db.insertInto(SALES, SALE_ID, SALE_SHOP, AMOUNT)
                        .values(1, 1L, new BigDecimal("1"))
                        .onConflict(field(name("id")))
                        .doUpdate()
                        .set(NOTE, "upserted")
                        .where(AMOUNT.lt(new BigDecimal("100")))
                        .execute());
        Parts.same("upserted", db.fetchValue(select(NOTE).from(SALES).where(SALE_ID.eq(1))));
    }

    private void changes() {
        Result<?> changed = db.update(SALES)
                .set(AMOUNT, AMOUNT.plus(1))
                .set(NOTE, (String) null)
                .where(SALE_ID.eq(3))
                .returningResult(AMOUNT, NOTE)
                .fetch();
        Parts.same(new BigDecimal("3.25"), changed.get(0).get(AMOUNT));
        Parts.same(
                1,
                db.update(SALES)
                        .set(NOTE, SHOP_NAME)
                        .from(SHOPS)
                        .where(SALE_SHOP.eq(SHOP_ID).and(SHOP_NAME.eq("Bob")))
                        .execute());
        Parts.same(
                1,
                db.update(SALES)
                        .set(row(NOTE, DAY), row(inline("row"), val(LocalDate.of(2024, 6, 1))))
                        .where(SALE_ID.in(select(max(SALE_ID)).from(SALES)))
                        .execute());
        Record1<Integer> gone = db.deleteFrom(SALES).where(SALE_ID.eq(2)).returningResult(SALE_ID).fetchOne();
        Parts.same(2, gone.value1());
        Parts.same(2, db.fetchCount(SALES));
    }

    private void merges() {
        Table<?> source = DSL.values(row(1L, "Ann's"), row(7L, "Eve")).as("source", "id", "name");
        int merged = db.mergeInto(SHOPS)
                .using(source)
                .on(SHOP_ID.eq(source.field("id", Long.class)))
                .whenMatchedThenUpdate()
                .set(field(name("opened"), LOCALDATE), LocalDate.of(2020, 1, 1))
                .whenNotMatchedThenInsert(SHOP_ID, SHOP_NAME)
                .values(source.field("id", Long.class), source.field("name", String.class))
                .execute();
        Parts.same(2, merged);
        Parts.same(1, db.deleteFrom(SHOPS).where(SHOP_NAME.eq("Eve")).execute());
    }

    private void changesReferred() {
        Parts.same(1, db.update(SHOPS).set(SHOP_NAME, "Anne").where(SHOP_ID.eq(1L)).execute());
        Parts.same(1, db.update(SHOPS).set(SHOP_NAME, "Ann's").where(SHOP_ID.eq(1L)).execute());
    }

    private void batches() throws Exception {
        var batch = db.batch(db.insertInto(SALES, SALE_SHOP, AMOUNT, NOTE).values((Long) null, null, null));
        for (int number = 1; number <= 100; number++) {
            batch.bind(1L, new BigDecimal(number), "batch");
        }
        Parts.same(100, batch.execute().length);
        var loaded = db.loadInto(SALES)
                .bulkAfter(10)
                .loadCSV("shop;amount;note\n2;1.5;batch\n2;2.5;batch\n")
                .fields(SALE_SHOP, AMOUNT, NOTE)
                .separator(';')
                .execute();
        Parts.same(2, loaded.stored());
        int[] counts = db.batch(
                        db.update(SALES).set(AMOUNT, AMOUNT.plus(1)).where(NOTE.eq("batch")),
                        db.deleteFrom(SALES).where(NOTE.eq("batch")))
                .execute();
        Parts.same(List.of(102, 102), List.of(counts[0], counts[1]));
    }

    private void values() {
        java.util.UUID uuid = java.util.UUID.fromString("12345678-1234-1234-1234-123456789abc");
        OffsetDateTime time = OffsetDateTime.of(2024, 5, 1, 12, 30, 15, 123456000, ZoneOffset.UTC);
        LocalDateTime local = time.toLocalDateTime();
        var row = db.select(
                        val(uuid), val(time), val(local), val((short) 7), val(0.1), val(0.5f), val(true),
                        val(new byte[] {0, (byte) 255}), val(Long.MAX_VALUE),
                        val(new BigDecimal("12345678901234567890.123")), val(LocalTime.NOON), val((String) null))
                .fetchOne();
        Parts.same(uuid, row.value1());
        Parts.same(time.toInstant(), row.value2().toInstant());
        Parts.same(local, row.value3());
        Parts.same((short) 7, row.value4());
        Parts.same(List.of(0.1, 0.5f, true), List.of(row.value5(), row.value6(), row.value7()));
        Parts.same((byte) 255, row.value8()[1]);
        Parts.same(Long.MAX_VALUE, row.value9());
        Parts.same(new BigDecimal("12345678901234567890.123"), row.value10());
        Parts.same(LocalTime.NOON, row.value11());
        Parts.same(null, row.value12());
    }

    private void arrays() {
        Parts.same(2, db.fetchValue(select(val(new Integer[] {1, null})))[0] + 1);
        Parts.same(1, db.update(SALES).set(TAGS, new String[] {"ä", "b,c"}).where(SALE_ID.eq(1)).execute());
        Parts.same(1, db.fetchCount(SALES, TAGS.contains(new String[] {"b,c"})));
        Parts.same(1, db.fetchCount(SALES, SALE_ID.eq(any(1, 7))));
    }

    private void transactions() {
        db.transaction(inner -> {
            inner.dsl().insertInto(SHOPS, SHOP_NAME).values("Dan").execute();
            // A transaction within one is a savepoint.
            inner.dsl().transaction(nested -> nested.dsl().deleteFrom(SHOPS).where(SHOP_NAME.eq("Dan")).execute());
        });
        Parts.same(false, db.fetchExists(SHOPS, SHOP_NAME.eq("Dan")));
        try {
            db.transaction(inner -> {
                inner.dsl().insertInto(SHOPS, SHOP_NAME).values("Eve").execute();
                throw new IllegalStateException("no");
            });
        } catch (IllegalStateException expected) {
            Parts.same("no", expected.getMessage());
        }
        Parts.same(false, db.fetchExists(SHOPS, SHOP_NAME.eq("Eve")));
    }

    private void savepoints() {
        db.transaction(outer -> {
            outer.dsl().insertInto(SHOPS, SHOP_NAME).values("Fay").execute();
            try {
                outer.dsl().transaction(inner -> {
                    inner.dsl().insertInto(SHOPS, SHOP_NAME).values("Gus").execute();
                    throw new IllegalStateException("no");
                });
            } catch (IllegalStateException expected) {
                Parts.same("no", expected.getMessage());
            }
        });
        Parts.same(1, db.deleteFrom(SHOPS).where(SHOP_NAME.in("Fay", "Gus")).execute());
    }

    private void errors() {
        try {
            db.insertInto(SHOPS, SHOP_NAME).values("Bob").execute();
            throw new AssertionError("a name came twice");
        } catch (IntegrityConstraintViolationException error) {
            Parts.same("23505", error.sqlState());
        }
        try {
            db.insertInto(SALES, SALE_SHOP, AMOUNT).values(1000L, BigDecimal.ONE).execute();
            throw new AssertionError("there is no such shop");
        } catch (IntegrityConstraintViolationException error) {
            Parts.same("23503", error.sqlState());
        }
    }

    private void addsColumn() {
        for (int time = 0; time < 2; time++) {
            db.alterTable("sales").addColumnIfNotExists(field(name("size"), INTEGER.notNull().default_(1))).execute();
        }
    }

    private void alters() {
        db.createTable("notes").column("id", INTEGER).column("body", CLOB).execute();
        db.insertInto(table(name("notes"))).columns(field(name("id")), field(name("body"))).values(1, "a").execute();
        db.alterTable("notes").addColumn(field(name("size"), INTEGER.notNull().default_(1))).execute();
        db.alterTable("notes").renameColumn("body").to("text").execute();
        db.alterTable("notes").alter("size").set(BIGINT).execute();
        db.alterTable("notes").alter("text").setNotNull().execute();
        db.alterTable("notes").alter("text").setDefault("none").execute();
        db.alterTable("notes").renameTo("remarks").execute();
        db.alterTable("remarks").add(constraint("remarks_id").unique("id")).execute();
        Map<String, Object> row = db.fetchOne(table(name("remarks"))).intoMap();
        Parts.same(Map.of("id", 1, "text", "a", "size", 1L), row);
        db.alterTable("remarks").dropColumn("size").execute();
        db.truncate("remarks").execute();
        db.dropView("big_sales").execute();
        db.dropTableIfExists("remarks").cascade().execute();
        db.dropTable("sales").execute();
        db.dropTable("shops").execute();
        db.dropSequence("numbers").execute();
        Parts.same(0, db.fetchCount(table(name("pg_tables")), field(name("schemaname")).eq("public")));
    }
}
