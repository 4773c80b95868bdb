"use strict";
/** What the commands do: pull, push, compare, run. */
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
exports.Actions = void 0;
exports.fileOf = fileOf;
exports.needed = needed;
const node_path_1 = require("node:path");
const vscode = __importStar(require("vscode"));
const command_1 = require("./command");
const settings_1 = require("./settings");
const tree_1 = require("./tree");
class Actions {
    tree;
    queries;
    databases;
    output;
    problems;
    constructor(tree, queries, databases, output, problems) {
        this.tree = tree;
        this.queries = queries;
        this.databases = databases;
        this.output = output;
        this.problems = problems;
    }
    /** Shows an error, and what its command wrote. */
    failed(error) {
        if (error instanceof command_1.CommandError && error.output.stderr) {
            this.output.appendLine(error.output.stderr.trimEnd());
        }
        const text = error instanceof Error ? error.message : String(error);
        void vscode.window.showErrorMessage(`Colonnade: ${text}`, "Show Output").then((choice) => {
            if (choice !== undefined) {
                this.output.show(true);
            }
        });
    }
    async pull(target, force = false) {
        const names = target instanceof tree_1.FunctionItem ? [target.listed.name] : [];
        const project = (0, settings_1.projectOf)((0, settings_1.folderOf)(target instanceof vscode.Uri ? target : undefined));
        const moved = await (0, command_1.answer)(project, "pull", force ? ["--force"] : [], names);
        this.tree.refresh();
        const kept = moved.filter((one) => one.result === "kept" || one.result === "failed");
        const first = kept[0];
        if (first === undefined) {
            const written = moved.filter((one) => one.result === "written").length;
            const text = written === 1 ? "1 file was written" : `${written} files were written`;
            void vscode.window.setStatusBarMessage(`Colonnade: ${text}`, 5000);
            if (target instanceof tree_1.FunctionItem && moved[0] !== undefined) {
                await vscode.window.showTextDocument(vscode.Uri.file(moved[0].path));
            }
            return;
        }
        const text = `${(0, node_path_1.relative)(project.root, first.path)}: ${first.reason ?? first.result}`;
        const more = kept.length > 1 ? ` (and ${kept.length - 1} more)` : "";
        const choice = await vscode.window.showWarningMessage(`Colonnade: ${text}${more}`, "Overwrite");
        if (choice !== undefined) {
            await this.pull(target, true);
        }
    }
    async push(target, force = false) {
        await vscode.workspace.saveAll(false);
        const file = fileOf(target);
        const project = (0, settings_1.projectOf)((0, settings_1.folderOf)(file));
        const names = file === undefined ? [] : [file.fsPath];
        let moved;
        try {
            moved = await (0, command_1.answer)(project, "push", force ? ["--force"] : [], names);
        }
        catch (error) {
            if (force || !(error instanceof command_1.CommandError) || !error.message.includes("--force")) {
                throw error;
            }
            const choice = await vscode.window.showWarningMessage(`Colonnade: ${error.message}`, "Replace");
            if (choice !== undefined) {
                await this.push(target, true);
            }
            return;
        }
        this.tree.refresh();
        const text = moved.length === 0 ? "nothing has changed" : `pushed ${moved.map((one) => one.name).join(", ")}`;
        void vscode.window.setStatusBarMessage(`Colonnade: ${text}`, 5000);
    }
    /** Pulls a function that has no file yet, and opens its file. */
    async open(target) {
        const file = fileOf(target);
        if (file === undefined) {
            await this.pull(target);
        }
        else {
            await vscode.window.showTextDocument(file);
        }
    }
    async compare(target) {
        const file = needed(target);
        await vscode.workspace.saveAll(false);
        const [found] = await (0, command_1.answer)((0, settings_1.projectOf)((0, settings_1.folderOf)(file)), "diff", [], [file.fsPath]);
        if (found === undefined) {
            void vscode.window.showInformationMessage("Colonnade: the file and the database have the same function.");
            return;
        }
        const before = this.databases.add(found.name, found.database ?? "");
        await vscode.commands.executeCommand("vscode.diff", before, file, `${found.name}: database and file`);
    }
    async run(target) {
        const file = needed(target);
        await vscode.workspace.saveAll(false);
        const inputs = await this.queries.wanted(file);
        if (inputs === undefined) {
            return;
        }
        const project = (0, settings_1.projectOf)((0, settings_1.folderOf)(file));
        const options = ["--json", ...(0, command_1.inputArguments)(inputs)];
        const title = `Running ${(0, node_path_1.relative)(project.root, file.fsPath)}`;
        const settings = { location: vscode.ProgressLocation.Window, title };
        const output = await vscode.window.withProgress(settings, () => (0, command_1.run)(project, "run", options, [file.fsPath]));
        this.show(file, output);
    }
    /** Writes results, or the error of a function, which is also a problem of its file. */
    show(file, output) {
        this.problems.delete(file);
        if (output.stderr) {
            this.output.appendLine(output.stderr.trimEnd());
        }
        let ran;
        try {
            ran = JSON.parse(output.stdout);
        }
        catch {
            throw new command_1.CommandError(output.stderr.trim().split("\n").pop() ?? "the function did not run", output);
        }
        this.output.show(true);
        if (ran.error !== undefined) {
            const line = Math.max(0, (ran.error.line ?? 1) - 1);
            const range = new vscode.Range(line, 0, line, Number.MAX_SAFE_INTEGER);
            const problem = new vscode.Diagnostic(range, ran.error.message, vscode.DiagnosticSeverity.Error);
            problem.source = "colonnade";
            this.problems.set(file, [problem]);
            return;
        }
        const shown = ran.first ?? [];
        for (const result of shown) {
            this.output.appendLine(JSON.stringify(result));
        }
        const count = ran.results ?? 0;
        const left = count - shown.length;
        this.output.appendLine(left > 0 ? `(${left} more of ${count} results)` : `(${count} results)`);
    }
}
exports.Actions = Actions;
/** The file that a command means: the entry's, the given one, or that of the active editor. */
function fileOf(target) {
    return target instanceof tree_1.FunctionItem ? target.file : target;
}
/** The file, which must exist. */
function needed(target) {
    const file = fileOf(target) ?? vscode.window.activeTextEditor?.document.uri;
    if (file === undefined) {
        throw new Error("open the file of a function first");
    }
    return file;
}
