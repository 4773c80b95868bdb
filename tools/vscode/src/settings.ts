/** The extension's settings, and the folder that they are for. */

import { existsSync } from "node:fs";
import { join } from "node:path";

import * as vscode from "vscode";

import { type Inputs, type Project } from "./command";

/** The folder of the workspace that has a file; the first one without a file. */
export function folderOf(file?: vscode.Uri): vscode.WorkspaceFolder {
    const active = file ?? vscode.window.activeTextEditor?.document.uri;
    const folder = active && vscode.workspace.getWorkspaceFolder(active);
    const found = folder ?? vscode.workspace.workspaceFolders?.[0];
    if (found === undefined) {
        throw new Error("open a folder: the functions' files are written into it");
    }
    return found;
}

/** Where commands run. */
export function projectOf(folder: vscode.WorkspaceFolder): Project {
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
export function inputsOf(folder: vscode.WorkspaceFolder): Inputs {
    const settings = vscode.workspace.getConfiguration("colonnade", folder.uri);
    const root = folder.uri.fsPath;
    return {
        sql: text(settings, "query", root),
        call: settings.get<number>("call", 1),
        sample: settings.get<number>("sample", 0),
        sampleGroups: settings.get<boolean>("sampleGroups", false),
        seed: settings.get<number | null>("seed", null),
        compression: text(settings, "compression", root),
        keyFile: text(settings, "keyFile", root),
    };
}

function text(settings: vscode.WorkspaceConfiguration, name: string, root: string): string {
    return settings.get<string>(name, "").replaceAll("${workspaceFolder}", root).trim();
}

function interpreter(given: string, root: string): string {
    if (given) {
        return given;
    }
    const isWindows = process.platform === "win32";
    const own = isWindows ? join(root, ".venv", "Scripts", "python.exe") : join(root, ".venv", "bin", "python");
    return existsSync(own) ? own : isWindows ? "python" : "python3";
}
