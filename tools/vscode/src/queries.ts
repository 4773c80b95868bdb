/** The query whose rows a function gets. */

import { basename } from "node:path";

import * as vscode from "vscode";

import { type Inputs } from "./command";
import { folderOf, inputsOf } from "./settings";

const KEY = "colonnade.query:";

export class Queries {
    constructor(private readonly state: vscode.Memento) {}

    /** The inputs of a function's file: by its own query, or the one of the settings. */
    of(file: vscode.Uri): Inputs {
        const settings = inputsOf(folderOf(file));
        return { ...settings, sql: this.state.get<string>(KEY + file.toString()) || settings.sql };
    }

    /** The inputs, after asking for a query if there is none. Undefined if the user leaves. */
    async wanted(file: vscode.Uri): Promise<Inputs | undefined> {
        const known = this.of(file);
        if (known.sql) {
            return known;
        }
        const given = await this.ask(file, "");
        return given === undefined ? undefined : { ...known, sql: given };
    }

    /** Asks for the query of a function, and keeps it. Undefined if the user leaves. */
    async ask(file: vscode.Uri, present: string): Promise<string | undefined> {
        const given = await vscode.window.showInputBox({
            title: `The query that calls ${basename(file.fsPath, ".py")}`,
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
