INSERT INTO shops (name, opened) VALUES ('${first}', '2024-05-01'), ('Bob; Sons', '2024-06-01');
INSERT INTO sales (shop_id, amount, note)
SELECT id, 10.50, 'opening' FROM shops;
UPDATE sales SET note = 'first' WHERE shop_id = (SELECT id FROM shops WHERE name = '${first}');
