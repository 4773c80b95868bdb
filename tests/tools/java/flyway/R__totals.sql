CREATE OR REPLACE VIEW totals AS
SELECT shops.name, sum(sales.amount) AS total FROM shops JOIN sales ON sales.shop_id = shops.id GROUP BY shops.name;
