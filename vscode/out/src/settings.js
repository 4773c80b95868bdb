"use strict";
/** The extension's settings, and the folder that they are for. */
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
exports.folderOf = folderOf;
exports.projectOf = projectOf;
exports.inputsOf = inputsOf;
const node_fs_1 = require("node:fs");
const node_path_1 = require("node:path");
const vscode = __importStar(require("vscode"));
/** The folder of the workspace that has a file; the first one without a file. */
function folderOf(file) {
    const active = file ?? vscode.window.activeTextEditor?.document.uri;
    const folder = active && vscode.workspace.getWorkspaceFolder(active);
    const found = folder ?? vscode.workspace.workspaceFolders?.[0];
    if (found === undefined) {
        throw new Error("open a folder: the functions' files are written into it");
    }
    return found;
}
/** Where commands run. */
function projectOf(folder) {
    const settings = vscode.workspace.getConfiguration("colonnade", folder.uri);
    const root = folder.uri.fsPath;
    return {
        root,
        python: interpreter(text(settings, "python", root), root),
        uri: text(settings, "uri", root),
        folder: text(settings, "folder", root),
    };
}
/** The inputs that the settings mean. */
function inputsOf(folder) {
    const settings = vscode.workspace.getConfiguration("colonnade", folder.uri);
    const root = folder.uri.fsPath;
    return {
        sql: text(settings, "query", root),
        call: settings.get("call", 1),
        sample: settings.get("sample", 0),
        sampleGroups: settings.get("sampleGroups", false),
        seed: settings.get("seed", null),
        compression: text(settings, "compression", root),
        keyFile: text(settings, "keyFile", root),
    };
}
function text(settings, name, root) {
    return settings.get(name, "").replaceAll("${workspaceFolder}", root).trim();
}
function interpreter(given, root) {
    if (given) {
        return given;
    }
    const isWindows = process.platform === "win32";
    const own = isWindows ? (0, node_path_1.join)(root, ".venv", "Scripts", "python.exe") : (0, node_path_1.join)(root, ".venv", "bin", "python");
    return (0, node_fs_1.existsSync)(own) ? own : isWindows ? "python" : "python3";
}
