/** What the commands do: pull, push, compare, run. */

import { relative } from "node:path";

import * as vscode from "vscode";

import { answer, CommandError, type Difference, inputArguments, type Moved, type Output, type Ran, run } from "./command";
import { type Databases } from "./databases";
import { type Queries } from "./queries";
import { folderOf, projectOf } from "./settings";
import { FunctionItem, type FunctionTree } from "./tree";

/** What a command may be called with: an entry of the tree, a file, or nothing. */
export type Target = FunctionItem | vscode.Uri | undefined;

export class Actions {
    constructor(
        private readonly tree: FunctionTree,
        private readonly queries: Queries,
        private readonly databases: Databases,
        private readonly output: vscode.OutputChannel,
        private readonly problems: vscode.DiagnosticCollection,
    ) {}

    /** Shows an error, and what its command wrote. */
    failed(error: unknown): void {
        if (error instanceof CommandError && error.output.stderr) {
            this.output.appendLine(error.output.stderr.trimEnd());
        }
        const text = error instanceof Error ? error.message : String(error);
        void vscode.window.showErrorMessage(`Colonnade: ${text}`, "Show Output").then((choice) => {
            if (choice !== undefined) {
                this.output.show(true);
            }
        });
    }

    async pull(target: Target, force = false): Promise<void> {
        const names = target instanceof FunctionItem ? [target.listed.name] : [];
        const project = projectOf(folderOf(target instanceof vscode.Uri ? target : undefined));
        const moved = await answer<Moved[]>(project, "pull", force ? ["--force"] : [], names);
        this.tree.refresh();
        const kept = moved.filter((one) => one.result === "kept" || one.result === "failed");
        const first = kept[0];
        if (first === undefined) {
            const written = moved.filter((one) => one.result === "written").length;
            const text = written === 1 ? "1 file was written" : `${written} files were written`;
            void vscode.window.setStatusBarMessage(`Colonnade: ${text}`, 5000);
            if (target instanceof FunctionItem && moved[0] !== undefined) {
                await vscode.window.showTextDocument(vscode.Uri.file(moved[0].path));
            }
            return;
        }
        const text = `${relative(project.root, first.path)}: ${first.reason ?? first.result}`;
        const more = kept.length > 1 ? ` (and ${kept.length - 1} more)` : "";
        const choice = await vscode.window.showWarningMessage(`Colonnade: ${text}${more}`, "Overwrite");
        if (choice !== undefined) {
            await this.pull(target, true);
        }
    }

    async push(target: Target, force = false): Promise<void> {
        await vscode.workspace.saveAll(false);
        const file = fileOf(target);
        const project = projectOf(folderOf(file));
        const names = file === undefined ? [] : [file.fsPath];
        let moved: Moved[];
        try {
            moved = await answer<Moved[]>(project, "push", force ? ["--force"] : [], names);
        } catch (error) {
            if (force || !(error instanceof CommandError) || !error.message.includes("--force")) {
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
    async open(target: Target): Promise<void> {
        const file = fileOf(target);
        if (file === undefined) {
            await this.pull(target);
        } else {
            await vscode.window.showTextDocument(file);
        }
    }

    async compare(target: Target): Promise<void> {
        const file = needed(target);
        await vscode.workspace.saveAll(false);
        const [found] = await answer<Difference[]>(projectOf(folderOf(file)), "diff", [], [file.fsPath]);
        if (found === undefined) {
            void vscode.window.showInformationMessage("Colonnade: the file and the database have the same function.");
            return;
        }
        const before = this.databases.add(found.name, found.database ?? "");
        await vscode.commands.executeCommand("vscode.diff", before, file, `${found.name}: database and file`);
    }

    async run(target: Target): Promise<void> {
        const file = needed(target);
        await vscode.workspace.saveAll(false);
        const inputs = await this.queries.wanted(file);
        if (inputs === undefined) {
            return;
        }
        const project = projectOf(folderOf(file));
        const options = ["--json", ...inputArguments(inputs)];
        const title = `Running ${relative(project.root, file.fsPath)}`;
        const settings = { location: vscode.ProgressLocation.Window, title };
        const output = await vscode.window.withProgress(settings, () => run(project, "run", options, [file.fsPath]));
        this.show(file, output);
    }

    /** Writes results, or the error of a function, which is also a problem of its file. */
    private show(file: vscode.Uri, output: Output): void {
        this.problems.delete(file);
        if (output.stderr) {
            this.output.appendLine(output.stderr.trimEnd());
        }
        let ran: Ran;
        try {
            ran = JSON.parse(output.stdout) as Ran;
        } catch {
            throw new CommandError(output.stderr.trim().split("\n").pop() ?? "the function did not run", output);
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

/** The file that a command means: the entry's, the given one, or that of the active editor. */
export function fileOf(target: Target): vscode.Uri | undefined {
    return target instanceof FunctionItem ? target.file : target;
}

/** The file, which must exist. */
export function needed(target: Target): vscode.Uri {
    const file = fileOf(target) ?? vscode.window.activeTextEditor?.document.uri;
    if (file === undefined) {
        throw new Error("open the file of a function first");
    }
    return file;
}
