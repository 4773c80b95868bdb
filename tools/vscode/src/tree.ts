/** The functions of the database, and the files that differ from them, by schema. */

import * as vscode from "vscode";

import { answer, type Listed } from "./command";
import { folderOf, projectOf } from "./settings";

/** What is shown next to a function. Functions equal to their file show no label. */
const ICONS: Readonly<Record<string, string>> = {
    same: "symbol-function",
    "only here": "new-file",
    "only in the database": "cloud",
    "changed here": "edit",
    "changed in the database": "cloud-download",
    "changed in both": "warning",
    "dropped in the database": "trash",
    "not readable": "error",
};

export class FunctionItem extends vscode.TreeItem {
    constructor(readonly listed: Listed, isOverloaded: boolean) {
        super(listed.function, vscode.TreeItemCollapsibleState.None);
        this.id = listed.name;
        const isSame = listed.state === "same";
        this.description = [isOverloaded || isSame ? typesOf(listed) : "", isSame ? "" : listed.state].join(" ").trim();
        this.tooltip = [listed.name, listed.language, listed.state, listed.path].filter(Boolean).join("\n");
        this.iconPath = new vscode.ThemeIcon(ICONS[listed.state] ?? "symbol-function");
        const kinds = ["function"];
        if (listed.id !== null) {
            kinds.push("remote");
        }
        if (listed.path !== null) {
            kinds.push("file");
        }
        if (listed.path !== null && listed.state !== "same") {
            kinds.push("changed");
        }
        this.contextValue = kinds.join(" ");
        this.command = { command: "colonnade.open", title: "Open", arguments: [this] };
    }

    /** The function's file, if there is one. */
    get file(): vscode.Uri | undefined {
        return this.listed.path === null ? undefined : vscode.Uri.file(this.listed.path);
    }
}

class SchemaItem extends vscode.TreeItem {
    constructor(name: string, readonly functions: readonly FunctionItem[]) {
        super(name, vscode.TreeItemCollapsibleState.Expanded);
        this.id = `schema ${name}`;
        this.iconPath = new vscode.ThemeIcon("symbol-namespace");
        this.contextValue = "schema";
    }
}

/** The entries of a schema. Functions with the same name are told by their types. */
function items(functions: readonly Listed[]): FunctionItem[] {
    const count = (name: string) => functions.filter((one) => one.function === name).length;
    return functions.map((one) => new FunctionItem(one, count(one.function) > 1));
}

type Item = SchemaItem | FunctionItem;

/** The types of the parameters, in parentheses. */
function typesOf(listed: Listed): string {
    return listed.name.slice(listed.schema.length + 1 + listed.function.length);
}

export class FunctionTree implements vscode.TreeDataProvider<Item> {
    private readonly changed = new vscode.EventEmitter<void>();
    readonly onDidChangeTreeData = this.changed.event;

    constructor(private readonly failed: (error: unknown) => void) {}

    refresh(): void {
        this.changed.fire();
    }

    getTreeItem(item: Item): vscode.TreeItem {
        return item;
    }

    async getChildren(item?: Item): Promise<Item[]> {
        if (item instanceof SchemaItem) {
            return [...item.functions];
        }
        if (item !== undefined || vscode.workspace.workspaceFolders === undefined) {
            return [];
        }
        try {
            const listed = await answer<Listed[]>(projectOf(folderOf()), "list", [], []);
            const schemas = new Map<string, Listed[]>();
            for (const one of listed) {
                schemas.set(one.schema, [...(schemas.get(one.schema) ?? []), one]);
            }
            return [...schemas].map(([name, functions]) => new SchemaItem(name, items(functions)));
        } catch (error) {
            this.failed(error);
            return [];
        }
    }
}
