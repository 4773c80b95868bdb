// Does in the editor what the tutorial says, by mouse and keyboard. The only argument is JSON with the places.
// Each step waits for what a person would see, and fails with a picture of the screen if it does not come.

import assert from "node:assert/strict";
import { join } from "node:path";

import { chromium } from "playwright-core";

const { url, browser: executablePath, pictures, line, fixed } = JSON.parse(process.argv[2]);
const NAME = "train_rnforest";

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1200, height: 720 } });
page.setDefaultTimeout(60_000);

const picture = (name, clip) => page.screenshot({ path: join(pictures, `${name}.png`), clip });
const treeRow = (text) => page.locator("[id='workbench.view.extension.colonnade'] .monaco-list-row", { hasText: text });
const lens = (text) => page.locator(".codelens-decoration a", { hasText: text });

async function command(title) {
    await page.keyboard.press("F1");
    await page.locator(".quick-input-widget input").fill(`>${title}`);
    await page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().click();
}

async function toLine(number) {
    await page.keyboard.press("Control+G");
    await page.locator(".quick-input-widget input").fill(`:${number}`);
    await page.keyboard.press("Enter");
}

async function evaluated(expression, result) {
    await page.locator(".repl-input-wrapper .monaco-editor").click();
    await page.keyboard.type(expression);
    await page.keyboard.press("Enter");
    await page.locator(".repl .monaco-list-row", { hasText: result }).first().waitFor();
}

async function steps() {
    await page.goto(url);
    await page.locator(".activitybar [aria-label='Colonnade']").first().click();

    // The tree has the function, which is in the database only.
    await treeRow(NAME).waitFor();
    await treeRow(NAME).filter({ hasText: "only in the database" }).waitFor();

    // A click pulls it and opens its file, which has the three commands.
    await treeRow(NAME).hover();
    await treeRow(NAME).getByRole("button", { name: "Pull" }).click();
    await lens("Debug").waitFor();
    await page.locator(".view-line", { hasText: `def ${NAME}` }).waitFor();
    await treeRow(NAME).filter({ hasNotText: "only in the database" }).waitFor();
    await picture("vscode-pulled");

    // Debug stops at the breakpoint, on the inputs of the query.
    await page.locator(".view-line", { hasText: `def ${NAME}` }).click();
    await toLine(line);
    await page.keyboard.press("F9");
    await page.locator(".codicon-debug-breakpoint").first().waitFor();
    await lens("Debug").click();
    await page.locator(".codicon-debug-stackframe").first().waitFor();
    await page.locator(".debug-toolbar").waitFor();
    const variable = page.locator(".debug-variables .monaco-list-row", { hasText: "n_estimators" });
    await variable.filter({ hasText: "3" }).waitFor();
    await evaluated("int(rows.max()), len(data)", "(20000, 20000)");
    await picture("vscode-stopped");

    // Without the breakpoint, the function's error stops where it is raised.
    await page.locator(".view-line", { hasText: `def ${NAME}` }).click();
    await toLine(line);
    await page.keyboard.press("F9");
    await page.keyboard.press("F5");
    const widget = page.locator(".exception-widget");
    await widget.waitFor();
    assert.match(await widget.innerText(), /IndexError[\s\S]*index 20000 is out of bounds/);
    // Above the traceback, which has the paths of this machine.
    const text = await widget.boundingBox();
    const top = await page.locator(".part.editor").first().boundingBox();
    await picture("vscode-error", { x: top.x, y: top.y, width: 1200 - top.x, height: text.y + 52 - top.y });
    await page.keyboard.press("Shift+F5");
    await page.locator(".debug-toolbar").waitFor({ state: "hidden" });

    // The line is mended and saved; the tree shows the change, and the comparison both versions.
    await page.locator(".view-line", { hasText: `def ${NAME}` }).click();
    await toLine(fixed.line);
    await page.keyboard.press("End");
    await page.keyboard.press("Shift+Home");
    await page.keyboard.type(fixed.text);
    await page.keyboard.press("Control+S");
    await page.locator(".activitybar [aria-label='Colonnade']").first().click();
    await treeRow(NAME).filter({ hasText: "changed here" }).waitFor();
    await treeRow(NAME).hover();
    await treeRow(NAME).getByRole("button", { name: "Compare with the Database" }).click();
    await page.locator(".monaco-diff-editor .line-insert").first().waitFor();
    await picture("vscode-compared");
    await page.keyboard.press("Control+W");

    // Run shows the results, and Push replaces the function.
    await lens("Run").first().click();
    await page.locator(".panel .view-line", { hasText: "(3 results)" }).first().waitFor();
    await picture("vscode-results");
    await lens("Push").first().click();
    await treeRow(NAME).filter({ hasNotText: "changed here" }).waitFor();
}

try {
    await steps();
} catch (error) {
    await picture("failed");
    throw error;
} finally {
    await browser.close();
}
console.log("the extension did what the tutorial says");
