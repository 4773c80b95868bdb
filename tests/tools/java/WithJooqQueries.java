import static org.jooq.Records.mapping;
import static org.jooq.impl.DSL.*;
import static org.jooq.impl.SQLDataType.*;

import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import org.jooq.DSLContext;
import org.jooq.DatePart;
import org.jooq.Field;
import org.jooq.JSONB;
import org.jooq.Record;
import org.jooq.Table;
import org.jooq.codegen.GenerationTool;
import org.jooq.meta.jaxb.Configuration;
import org.jooq.meta.jaxb.Database;
import org.jooq.meta.jaxb.Generator;
import org.jooq.meta.jaxb.Jdbc;
import org.jooq.meta.jaxb.Target;

/** Queries of WithJooq, and its generator of code, which reads the catalog. */
final class WithJooqQueries {
    record Sale(Integer id, BigDecimal amount) {
        static Sale of(Integer id, BigDecimal amount) {
            return new Sale(id, amount.setScale(2));
        }
    }

    record Shop(String name, List<Sale> sales) {}

    private final DSLContext db;

    private WithJooqQueries(DSLContext db) {
        this.db = db;
    }

    static void parts(DSLContext db) {
        WithJooqQueries program = new WithJooqQueries(db);
        Parts.part("queries: prepares", program::prepares);
        Parts.part("queries: joins and groups", program::joins);
        Parts.part("queries: nested rows by multiset", program::multiset);
        Parts.part("queries: nested rows keep their digits", program::digits);
        Parts.part("queries: nested rows by row", program::nestedRow);
        Parts.part("queries: grouped rows by multisetAgg", program::multisetAgg);
        Parts.part("queries: windows", program::windows);
        Parts.part("queries: JSON", program::json);
        Parts.part("queries: aggregates of JSON", program::jsonAggregates);
        Parts.part("queries: arrays", program::arrays);
        Parts.part("queries: functions", program::functions);
        Parts.part("queries: common tables and sets", program::commonTables);
        Parts.part("queries: laterals with a limit", program::laterals);
        Parts.part("queries: pages with ties", program::ties);
        Parts.part("queries: pages", program::pages);
        Parts.part("queries: locks rows", program::locks);
        Parts.part("queries: reads metadata", program::metadata);
        Parts.part("queries: reads metadata of sequences", program::sequences);
        Parts.part("queries: generates code", program::generates);
        Parts.part("queries: generates code of sequences", program::generatesSequences);
    }

    private void prepares() {
        db.deleteFrom(WithJooq.SALES).execute();
        db.insertInto(WithJooq.SALES, WithJooq.SALE_ID, WithJooq.SALE_SHOP, WithJooq.AMOUNT, WithJooq.DAY)
                .values(11, 1L, new BigDecimal("10.50"), LocalDate.of(2024, 5, 1))
                .values(12, 1L, new BigDecimal("2.25"), LocalDate.of(2024, 5, 2))
                .values(13, 2L, new BigDecimal("5.00"), null)
                .execute();
        db.update(WithJooq.SALES)
                .set(WithJooq.DETAILS, org.jooq.JSONB.jsonb("{\"paper\": \"brown\", \"boxes\": [1, 2]}"))
                .set(WithJooq.TAGS, array(inline("old"), inline("größer")))
                .where(WithJooq.SALE_ID.eq(11))
                .execute();
    }

    private void joins() {
        var rows = db.select(WithJooq.SHOP_NAME, sum(WithJooq.AMOUNT), count(), max(WithJooq.DAY))
                .from(WithJooq.SHOPS)
                .leftJoin(WithJooq.SALES)
                .on(WithJooq.SALE_SHOP.eq(WithJooq.SHOP_ID))
                .groupBy(WithJooq.SHOP_NAME)
                .having(count(WithJooq.SALE_ID).gt(0))
                .orderBy(sum(WithJooq.AMOUNT).desc().nullsLast())
                .fetch();
        Parts.same(List.of("Ann's", "Bob"), rows.getValues(0));
        Parts.same(new BigDecimal("12.75"), rows.get(0).value2());
        Parts.same(List.of(2, 1), rows.getValues(2));
        Parts.same(LocalDate.of(2024, 5, 2), rows.get(0).value4());
        var filtered = db.select(
                        count().filterWhere(WithJooq.AMOUNT.gt(new BigDecimal(3))),
                        listAgg(WithJooq.AMOUNT.cast(VARCHAR), ",").withinGroupOrderBy(WithJooq.AMOUNT),
                        arrayAgg(WithJooq.SALE_ID).orderBy(WithJooq.SALE_ID.desc()))
                .from(WithJooq.SALES)
                .fetchOne();
        Parts.same(2, filtered.value1());
        Parts.same("2.25,5.00,10.50", filtered.value2());
        Parts.same(List.of(13, 12, 11), List.of(filtered.value3()));
        Parts.same(
                List.of("Bob"),
                db.select(WithJooq.SHOP_NAME)
                        .from(WithJooq.SHOPS)
                        .where(notExists(selectOne()
                                .from(WithJooq.SALES)
                                .where(WithJooq.SALE_SHOP.eq(WithJooq.SHOP_ID).and(WithJooq.DAY.isNotNull()))))
                        .fetch(WithJooq.SHOP_NAME));
    }

    private void multiset() {
        List<Shop> shops = db.select(
                        WithJooq.SHOP_NAME,
                        org.jooq.impl.DSL.multiset(select(WithJooq.SALE_ID, WithJooq.AMOUNT)
                                        .from(WithJooq.SALES)
                                        .where(WithJooq.SALE_SHOP.eq(WithJooq.SHOP_ID))
                                        .orderBy(WithJooq.SALE_ID))
                                .convertFrom(result -> result.map(mapping(Sale::of))))
                .from(WithJooq.SHOPS)
                .orderBy(WithJooq.SHOP_NAME)
                .fetch(mapping(Shop::new));
        Parts.same(
                List.of(
                        new Shop("Ann's", List.of(new Sale(11, new BigDecimal("10.50")), new Sale(12, new BigDecimal("2.25")))),
                        new Shop("Bob", List.of(new Sale(13, new BigDecimal("5.00"))))),
                shops);
    }

    private void digits() {
        var rows = db.select(org.jooq.impl.DSL.multiset(select(WithJooq.AMOUNT).from(WithJooq.SALES).orderBy(WithJooq.SALE_ID)))
                .fetchOne();
        Parts.same(List.of("10.50", "2.25", "5.00"), rows.value1().map(row -> row.value1().toString()));
    }

    private void nestedRow() {
        var sale = db.select(WithJooq.SHOP_NAME, row(WithJooq.SALE_ID, WithJooq.AMOUNT).mapping(Sale::of))
                .from(WithJooq.SALES)
                .join(WithJooq.SHOPS)
                .on(WithJooq.SALE_SHOP.eq(WithJooq.SHOP_ID))
                .where(WithJooq.SALE_ID.eq(13))
                .fetchOne();
        Parts.same(new Sale(13, new BigDecimal("5.00")), sale.value2());
    }

    private void multisetAgg() {
        var rows = db.select(
                        WithJooq.SALE_SHOP,
                        org.jooq.impl.DSL.multisetAgg(WithJooq.SALE_ID, WithJooq.AMOUNT)
                                .orderBy(WithJooq.SALE_ID)
                                .convertFrom(result -> result.map(mapping(Sale::of))))
                .from(WithJooq.SALES)
                .groupBy(WithJooq.SALE_SHOP)
                .orderBy(WithJooq.SALE_SHOP)
                .fetch();
        Parts.same(List.of(2, 1), rows.map(row -> row.value2().size()));
    }

    private void windows() {
        var rows = db.select(
                        WithJooq.SALE_ID,
                        rowNumber().over(partitionBy(WithJooq.SALE_SHOP).orderBy(WithJooq.AMOUNT)),
                        sum(WithJooq.AMOUNT).over(orderBy(WithJooq.SALE_ID).rowsBetweenUnboundedPreceding().andCurrentRow()),
                        lag(WithJooq.AMOUNT, 1).over(orderBy(WithJooq.SALE_ID)),
                        firstValue(WithJooq.AMOUNT).over(name("w")),
                        ntile(2).over(name("w")))
                .from(WithJooq.SALES)
                .window(name("w").as(orderBy(WithJooq.AMOUNT.desc())))
                .orderBy(WithJooq.SALE_ID)
                .fetch();
        Parts.same(List.of(2, 1, 1), rows.getValues(1));
        Parts.same(new BigDecimal("17.75"), rows.get(2).value3());
        Parts.same(new BigDecimal("2.25"), rows.get(2).value4());
        Parts.same(List.of(1, 2, 1), rows.getValues(5));
    }

    private void json() {
        var built = db.select(
                        jsonbObject(key("id").value(WithJooq.SALE_ID), key("note").value(WithJooq.NOTE)),
                        jsonbArray(WithJooq.SALE_ID, inline("x")),
                        jsonbGetAttributeAsText(WithJooq.DETAILS, "paper"),
                        jsonbGetElementAsText(jsonbGetAttribute(WithJooq.DETAILS, "boxes"), 1))
                .from(WithJooq.SALES)
                .where(WithJooq.SALE_ID.eq(11))
                .fetchOne();
        Parts.same("{id:11,note:null}", plain(built.value1()));
        Parts.same("[11,x]", plain(built.value2()));
        Parts.same("brown", built.value3());
        Parts.same("2", built.value4());
    }

    private void jsonAggregates() {
        var all = db.select(
                        jsonbArrayAgg(WithJooq.SALE_ID).orderBy(WithJooq.SALE_ID),
                        jsonbObjectAgg(WithJooq.SALE_ID.cast(VARCHAR), WithJooq.SALE_SHOP))
                .from(WithJooq.SALES)
                .fetchOne();
        Parts.same("[11,12,13]", plain(all.value1()));
        Parts.same("{11:1,12:1,13:2}", plain(all.value2()));
    }

    private static String plain(JSONB json) {
        return json.data().replaceAll("[ \"]", "");
    }

    private void arrays() {
        var row = db.select(
                        WithJooq.TAGS,
                        cardinality(WithJooq.TAGS),
                        arrayGet(WithJooq.TAGS, 1),
                        arrayAppend(WithJooq.TAGS, inline("new")))
                .from(WithJooq.SALES)
                .where(WithJooq.TAGS.contains(cast(array(inline("old")), VARCHAR.array())).and(val("größer").eq(any(WithJooq.TAGS))))
                .fetchOne();
        Parts.same(List.of("old", "größer"), List.of(row.value1()));
        Parts.same(2, row.value2());
        Parts.same("old", row.value3());
        Parts.same(3, row.value4().length);
        var unnested = db.select(field(name("tag"), VARCHAR))
                .from(WithJooq.SALES, unnest(WithJooq.TAGS).as("t", "tag"))
                .orderBy(1)
                .fetch();
        Parts.same(List.of("größer", "old"), unnested.getValues(0));
        Parts.same(List.of(1, 3, 5), db.selectFrom(generateSeries(1, 5, 2)).fetch().getValues(0));
    }

    private void functions() {
        var row = db.select(
                        upper(WithJooq.SHOP_NAME), substring(WithJooq.SHOP_NAME, 1, 2), position(WithJooq.SHOP_NAME, "n"),
                        coalesce(WithJooq.NOTE, inline("none")), extract(WithJooq.DAY, DatePart.MONTH),
                        trunc(WithJooq.DAY, DatePart.MONTH), localDateAdd(WithJooq.DAY, 3, DatePart.DAY),
                        localDateDiff(WithJooq.DAY, LocalDate.of(2024, 4, 1)), round(WithJooq.AMOUNT, 1),
                        greatest(WithJooq.AMOUNT, inline(new BigDecimal(11))), lpad(WithJooq.SHOP_NAME, 7, "*"),
                        decode(WithJooq.SALE_ID, inline(11), inline("eleven"), inline("other")),
                        replace(WithJooq.SHOP_NAME, "'", ""), WithJooq.SALE_ID.mod(4), nullif(WithJooq.SALE_ID, 11),
                        when(WithJooq.AMOUNT.gt(new BigDecimal(10)), "big").otherwise("small"), md5(inline("a")))
                .from(WithJooq.SALES)
                .join(WithJooq.SHOPS)
                .on(WithJooq.SALE_SHOP.eq(WithJooq.SHOP_ID))
                .where(WithJooq.SHOP_NAME.likeIgnoreCase("ann%").and(WithJooq.SALE_ID.between(11, 11)))
                .and(WithJooq.SHOP_NAME.likeRegex("^A.*s$"))
                .and(row(WithJooq.SALE_ID, WithJooq.SALE_SHOP).in(row(11, 1L), row(12, 1L)))
                .and(WithJooq.NOTE.isDistinctFrom("x"))
                .fetchOne();
        Parts.same(
                "[ANN'S, An, 2, none, 5, 2024-05-01, 2024-05-04, 30, 10.5, 11, **Ann's, eleven, Anns, 3, null, big,"
                        + " 0cc175b9c0f1b6a831c399e269772661]",
                row.intoList().toString().replace("11.00", "11").replace("10.50", "10.5"));
    }

    private void commonTables() {
        Field<Integer> number = field(name("n"), INTEGER);
        var numbers = name("numbers").fields("n").as(select(inline(1)).unionAll(select(number.plus(1)).from(name("numbers")).where(number.lt(5))));
        Parts.same(
                15, db.withRecursive(numbers).select(sum(number)).from(numbers).fetchOne().value1().intValue());
        var sets = select(WithJooq.SALE_ID).from(WithJooq.SALES)
                .except(select(inline(11)))
                .union(select(inline(99)))
                .orderBy(1);
        Parts.same(List.of(12, 13, 99), db.fetch(sets).getValues(0));
        latest(inline(1));
        Parts.same(
                List.of(11, 13),
                db.select(WithJooq.SALE_ID).distinctOn(WithJooq.SALE_SHOP).from(WithJooq.SALES)
                        .orderBy(WithJooq.SALE_SHOP, WithJooq.SALE_ID).fetch(WithJooq.SALE_ID));
        var totals = db.select(WithJooq.SALE_SHOP, grouping(WithJooq.SALE_SHOP), sum(WithJooq.AMOUNT)).from(WithJooq.SALES)
                .groupBy(rollup(WithJooq.SALE_SHOP)).orderBy(WithJooq.SALE_SHOP.asc().nullsLast()).fetch();
        Parts.same(List.of(0, 0, 1), totals.getValues(1));
    }

    private void laterals() {
        latest(val(1));
    }

    private void latest(Field<Integer> most) {
        Table<?> latest = lateral(select(WithJooq.AMOUNT.as("last")).from(WithJooq.SALES)
                        .where(WithJooq.SALE_SHOP.eq(WithJooq.SHOP_ID)).orderBy(WithJooq.SALE_ID.desc()).limit(most))
                .as("latest");
        Parts.same(
                List.of(new BigDecimal("2.25"), new BigDecimal("5.00")),
                db.select(latest.field("last")).from(WithJooq.SHOPS).crossJoin(latest).orderBy(WithJooq.SHOP_ID).fetch().getValues(0));
    }

    private void ties() {
        Parts.same(2, db.select(WithJooq.SALE_ID).from(WithJooq.SALES).orderBy(WithJooq.SALE_SHOP).limit(1).withTies().fetch().size());
    }

    private void pages() {
        Parts.same(
                List.of(12),
                db.select(WithJooq.SALE_ID).from(WithJooq.SALES).orderBy(WithJooq.SALE_ID).limit(1).offset(1)
                        .fetch(WithJooq.SALE_ID));
        Parts.same(
                List.of(13),
                db.select(WithJooq.SALE_ID).from(WithJooq.SALES).orderBy(WithJooq.SALE_ID).seek(12).limit(5)
                        .fetch(WithJooq.SALE_ID));
        db.transaction(inner -> {
            List<Integer> seen = new ArrayList<>();
            try (var cursor = inner.dsl().select(WithJooq.SALE_ID).from(WithJooq.SALES).fetchSize(2).fetchLazy()) {
                cursor.forEach(row -> seen.add(row.value1()));
            }
            Parts.same(3, seen.size());
        });
        try (var stream = db.select(WithJooq.SALE_ID).from(WithJooq.SALES).fetchStream()) {
            Parts.same(36, stream.mapToInt(row -> row.value1()).sum());
        }
    }

    private void locks() {
        db.transaction(inner -> {
            var locked = inner.dsl().select(WithJooq.SALE_ID).from(WithJooq.SALES).where(WithJooq.SALE_ID.eq(11)).forUpdate();
            Parts.same(11, locked.fetchOne().value1());
        });
    }

    private void metadata() {
        var meta = db.meta().filterSchemas(schema -> schema.getName().equals("public"));
        Table<?> sales = meta.getTables("sales").get(0);
        Parts.same(List.of("id", "shop_id", "amount", "note", "day", "details", "tags"), List.of(sales.fields()).stream().map(Field::getName).toList());
        Parts.same(List.of("id"), sales.getPrimaryKey().getFields().stream().map(Field::getName).toList());
        Parts.same("shops", sales.getReferences().get(0).getKey().getTable().getName());
        Parts.same(true, sales.getIndexes().stream().anyMatch(index -> index.getName().equals("sales_day")));
        Parts.same(9, sales.field("amount").getDataType().precision());
    }

    private void sequences() {
        Parts.same(1, db.meta().filterSchemas(schema -> schema.getName().equals("public")).getSequences("numbers").size());
    }

    private static Path generated(boolean sequences) throws Exception {
        Path directory = Files.createTempDirectory("jooq");
        GenerationTool.generate(new Configuration()
                .withJdbc(new Jdbc().withUrl(Parts.url()).withUser(Parts.user()).withPassword(""))
                .withGenerator(new Generator()
                        .withDatabase(new Database()
                                .withName("org.jooq.meta.postgres.PostgresDatabase")
                                .withIncludeSequences(sequences)
                                .withInputSchema("public"))
                        .withTarget(new Target().withPackageName("made").withDirectory(directory.toString()))));
        return directory.resolve("made");
    }

    private void generatesSequences() throws Exception {
        Parts.same(true, Files.readString(generated(true).resolve("Sequences.java")).contains("NUMBERS"));
    }

    private void generates() throws Exception {
        Path made = generated(false);
        String keys = Files.readString(made.resolve("Keys.java"));
        Parts.same(true, keys.contains("UniqueKey<SalesRecord> ") && keys.contains("ForeignKey<SalesRecord, ShopsRecord>"));
        String sales = Files.readString(made.resolve("tables/Sales.java"));
        Parts.same(true, sales.contains("SQLDataType.NUMERIC(9, 2).nullable(false), this, \"how much\""));
        Parts.same(true, sales.contains("TableField<SalesRecord, String[]> TAGS"));
        Parts.same(true, sales.contains("SQLDataType.INTEGER.nullable(false).identity(true)"));
        Parts.same(true, Files.exists(made.resolve("tables/BigSales.java")));
    }
}
