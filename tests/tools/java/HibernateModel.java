import jakarta.persistence.CascadeType;
import jakarta.persistence.CollectionTable;
import jakarta.persistence.Column;
import jakarta.persistence.ConstraintMode;
import jakarta.persistence.ElementCollection;
import jakarta.persistence.Embeddable;
import jakarta.persistence.Embedded;
import jakarta.persistence.Entity;
import jakarta.persistence.EnumType;
import jakarta.persistence.Enumerated;
import jakarta.persistence.FetchType;
import jakarta.persistence.ForeignKey;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Index;
import jakarta.persistence.JoinColumn;
import jakarta.persistence.JoinTable;
import jakarta.persistence.ManyToMany;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OrderBy;
import jakarta.persistence.Table;
import jakarta.persistence.Version;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.hibernate.annotations.CreationTimestamp;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.annotations.NaturalId;
import org.hibernate.annotations.UpdateTimestamp;
import org.hibernate.type.SqlTypes;

/** The entities of WithHibernate. Keys to other tables have no constraint: Hibernate adds those by ALTER TABLE. */
final class HibernateModel {
    private HibernateModel() {}

    enum Kind {
        MARKET,
        STALL
    }

    enum Mood {
        GOOD,
        BAD
    }

    @Embeddable
    static class Address {
        String street;
        String city;

        Address() {}

        Address(String street, String city) {
            this.street = street;
            this.city = city;
        }
    }

    @Entity(name = "Shop")
    @Table(name = "shops", indexes = @Index(name = "shops_city", columnList = "city, kind"))
    static class Shop {
        @Id
        @GeneratedValue(strategy = GenerationType.IDENTITY)
        Long id;

        @Column(nullable = false, unique = true, length = 80)
        String name;

        @Enumerated(EnumType.STRING)
        Kind kind = Kind.MARKET;

        @Embedded
        Address address;

        @CreationTimestamp
        Instant createdAt;

        @UpdateTimestamp
        LocalDateTime updatedAt;

        @Version
        int version;

        @OneToMany(mappedBy = "shop", cascade = CascadeType.ALL, orphanRemoval = true)
        @OrderBy("id")
        List<Sale> sales = new ArrayList<>();

        @ElementCollection
        @CollectionTable(
                name = "shop_tags",
                joinColumns = @JoinColumn(name = "shop_id"),
                foreignKey = @ForeignKey(ConstraintMode.NO_CONSTRAINT))
        @Column(name = "tag")
        Set<String> tags = new LinkedHashSet<>();

        Shop() {}

        Shop(String name, String city) {
            this.name = name;
            this.address = new Address("High Street", city);
        }

        Sale sells(String amount) {
            Sale sale = new Sale();
            sale.shop = this;
            sale.amount = new BigDecimal(amount);
            sales.add(sale);
            return sale;
        }
    }

    @Entity(name = "Sale")
    @Table(name = "sales")
    static class Sale {
        /** A sequence with steps of 50, and no statement for most rows. */
        @Id
        @GeneratedValue(strategy = GenerationType.SEQUENCE)
        Long id;

        @ManyToOne(fetch = FetchType.LAZY, optional = false)
        @JoinColumn(name = "shop_id", foreignKey = @ForeignKey(ConstraintMode.NO_CONSTRAINT))
        Shop shop;

        @Column(precision = 9, scale = 2, nullable = false)
        BigDecimal amount;

        LocalDate day = LocalDate.of(2024, 5, 1);
        boolean paid;
        Double weight;
        Duration took;

        @Enumerated(EnumType.ORDINAL)
        Mood mood;

        @JdbcTypeCode(SqlTypes.JSON)
        Map<String, String> details;

        byte[] picture;
        List<Integer> marks;

        @ManyToMany
        @JoinTable(
                name = "sale_products",
                joinColumns = @JoinColumn(name = "sale_id"),
                inverseJoinColumns = @JoinColumn(name = "product_id"),
                foreignKey = @ForeignKey(ConstraintMode.NO_CONSTRAINT),
                inverseForeignKey = @ForeignKey(ConstraintMode.NO_CONSTRAINT))
        Set<Product> products = new HashSet<>();
    }

    /** Products and books are in one table. */
    @Entity(name = "Product")
    @Table(name = "products")
    static class Product {
        @Id
        @GeneratedValue(strategy = GenerationType.UUID)
        UUID id;

        @NaturalId
        String code;

        @Column(columnDefinition = "text")
        String description;

        Product() {}

        Product(String code, String description) {
            this.code = code;
            this.description = description;
        }
    }

    @Entity(name = "Book")
    static class Book extends Product {
        Integer pages;

        Book() {}

        Book(String code, int pages) {
            super(code, "a book");
            this.pages = pages;
        }
    }

    @Entity(name = "Setting")
    @Table(name = "settings")
    static class Setting {
        @Id
        String name;

        String value;

        Setting() {}

        Setting(String name, String value) {
            this.name = name;
            this.value = value;
        }
    }

    /** The table of `Setting`, with columns more. */
    @Entity(name = "LaterSetting")
    @Table(name = "settings")
    static class LaterSetting {
        @Id
        String name;

        String value;

        @Column(length = 40)
        String unit;

        Instant changed;
        BigDecimal factor;
    }

    /** A parent and a child as most programs have them: Hibernate adds a constraint after the tables. */
    @Entity(name = "Parent")
    @Table(name = "parents")
    static class Parent {
        @Id
        @GeneratedValue
        Integer id;

        @OneToMany(mappedBy = "parent", cascade = CascadeType.ALL)
        List<Child> children = new ArrayList<>();
    }

    @Entity(name = "Child")
    @Table(name = "children")
    static class Child {
        @Id
        @GeneratedValue
        Integer id;

        @ManyToOne
        Parent parent;
    }

    /** With an enumeration of the database. */
    @Entity(name = "Diary")
    @Table(name = "diaries")
    static class Diary {
        @Id
        LocalDate day;

        @JdbcTypeCode(SqlTypes.NAMED_ENUM)
        Mood mood;

        Diary() {}

        Diary(LocalDate day, Mood mood) {
            this.day = day;
            this.mood = mood;
        }
    }
}
