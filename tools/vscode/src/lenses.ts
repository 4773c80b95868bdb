/** Run | Debug | Push above the `def` of a function's file. */

import * as vscode from "vscode";

import { lineOfDef } from "./pulled";

const ACTIONS = [
    ["Run", "colonnade.run", "Call the function in this workspace, with the inputs of its query"],
    ["Debug", "colonnade.debug", "Call the function with breakpoints, with the inputs of its query"],
    ["Push", "colonnade.push", "Create or replace the function in the database"],
] as const;

/** The lines of a document, one at a time. */
export function* linesOf(document: vscode.TextDocument): Generator<string> {
    for (let line = 0; line < document.lineCount; line += 1) {
        yield document.lineAt(line).text;
    }
}

export class Lenses implements vscode.CodeLensProvider {
    provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
        const line = lineOfDef(linesOf(document));
        if (line === undefined) {
            return [];
        }
        const range = document.lineAt(line).range;
        return ACTIONS.map(
            ([title, command, tooltip]) =>
                new vscode.CodeLens(range, { title, command, tooltip, arguments: [document.uri] }),
        );
    }
}
