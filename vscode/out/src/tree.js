"use strict";
/** The functions of the database, and the files that differ from them, by schema. */
var __createBinding = (this && this.__createBinding) || (Object.create ? (function(o, m, k, k2) {
    if (k2 === undefined) k2 = k;
    var desc = Object.getOwnPropertyDescriptor(m, k);
    if (!desc || ("get" in desc ? !m.__esModule : desc.writable || desc.configurable)) {
      desc = { enumerable: true, get: function() { return m[k]; } };
    }
    Object.defineProperty(o, k2, desc);
}) : (function(o, m, k, k2) {
    if (k2 === undefined) k2 = k;
    o[k2] = m[k];
}));
var __setModuleDefault = (this && this.__setModuleDefault) || (Object.create ? (function(o, v) {
    Object.defineProperty(o, "default", { enumerable: true, value: v });
}) : function(o, v) {
    o["default"] = v;
});
var __importStar = (this && this.__importStar) || (function () {
    var ownKeys = function(o) {
        ownKeys = Object.getOwnPropertyNames || function (o) {
            var ar = [];
            for (var k in o) if (Object.prototype.hasOwnProperty.call(o, k)) ar[ar.length] = k;
            return ar;
        };
        return ownKeys(o);
    };
    return function (mod) {
        if (mod && mod.__esModule) return mod;
        var result = {};
        if (mod != null) for (var k = ownKeys(mod), i = 0; i < k.length; i++) if (k[i] !== "default") __createBinding(result, mod, k[i]);
        __setModuleDefault(result, mod);
        return result;
    };
})();
Object.defineProperty(exports, "__esModule", { value: true });
exports.FunctionTree = exports.FunctionItem = void 0;
const vscode = __importStar(require("vscode"));
const command_1 = require("./command");
const settings_1 = require("./settings");
/** What is shown beside a function. A function that is the same as its file has nothing. */
const ICONS = {
    same: "symbol-function",
    "only here": "new-file",
    "only in the database": "cloud",
    "changed here": "edit",
    "changed in the database": "cloud-download",
    "changed in both": "warning",
    "dropped in the database": "trash",
    "not readable": "error",
};
class FunctionItem extends vscode.TreeItem {
    listed;
    constructor(listed) {
        super(labelOf(listed), vscode.TreeItemCollapsibleState.None);
        this.listed = listed;
        this.id = listed.name;
        this.description = listed.state === "same" ? "" : listed.state;
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
    get file() {
        return this.listed.path === null ? undefined : vscode.Uri.file(this.listed.path);
    }
}
exports.FunctionItem = FunctionItem;
class SchemaItem extends vscode.TreeItem {
    functions;
    constructor(name, functions) {
        super(name, vscode.TreeItemCollapsibleState.Expanded);
        this.functions = functions;
        this.id = `schema ${name}`;
        this.iconPath = new vscode.ThemeIcon("symbol-namespace");
        this.contextValue = "schema";
    }
}
/** The name and the types, without the schema above it. */
function labelOf(listed) {
    return listed.name.slice(listed.schema.length + 1) || listed.name;
}
class FunctionTree {
    failed;
    changed = new vscode.EventEmitter();
    onDidChangeTreeData = this.changed.event;
    constructor(failed) {
        this.failed = failed;
    }
    refresh() {
        this.changed.fire();
    }
    getTreeItem(item) {
        return item;
    }
    async getChildren(item) {
        if (item instanceof SchemaItem) {
            return [...item.functions];
        }
        if (item !== undefined || vscode.workspace.workspaceFolders === undefined) {
            return [];
        }
        try {
            const listed = await (0, command_1.answer)((0, settings_1.projectOf)((0, settings_1.folderOf)()), "list", [], []);
            const schemas = new Map();
            for (const one of listed) {
                const functions = schemas.get(one.schema) ?? [];
                functions.push(new FunctionItem(one));
                schemas.set(one.schema, functions);
            }
            return [...schemas].map(([name, functions]) => new SchemaItem(name, functions));
        }
        catch (error) {
            this.failed(error);
            return [];
        }
    }
}
exports.FunctionTree = FunctionTree;
