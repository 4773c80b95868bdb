"use strict";
/** The query whose rows a function gets. */
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
exports.Queries = void 0;
const node_path_1 = require("node:path");
const vscode = __importStar(require("vscode"));
const settings_1 = require("./settings");
const KEY = "colonnade.query:";
class Queries {
    state;
    constructor(state) {
        this.state = state;
    }
    /** The inputs of a function's file: by its own query, or the one of the settings. */
    of(file) {
        const settings = (0, settings_1.inputsOf)((0, settings_1.folderOf)(file));
        return { ...settings, sql: this.state.get(KEY + file.toString()) || settings.sql };
    }
    /** The inputs, after asking for a query if there is none. Undefined if the user leaves. */
    async wanted(file) {
        const known = this.of(file);
        if (known.sql) {
            return known;
        }
        const given = await this.ask(file, "");
        return given === undefined ? undefined : { ...known, sql: given };
    }
    /** Asks for the query of a function, and keeps it. Undefined if the user leaves. */
    async ask(file, present) {
        const given = await vscode.window.showInputBox({
            title: `The query that calls ${(0, node_path_1.basename)(file.fsPath, ".py")}`,
            prompt: "The query whose rows the function gets, or @FILE with it. Empty: the inputs that were fetched last.",
            placeHolder: "SELECT …",
            value: present,
            ignoreFocusOut: true,
        });
        if (given !== undefined) {
            await this.state.update(KEY + file.toString(), given.trim() || undefined);
        }
        return given?.trim();
    }
}
exports.Queries = Queries;
