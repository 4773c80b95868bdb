/** The functions of the database as read-only documents, to compare files with. */

import * as vscode from "vscode";

export const SCHEME = "colonnade-database";

/** How many texts are kept. */
const MAX_TEXTS = 50;

export class Databases implements vscode.TextDocumentContentProvider {
    private readonly texts = new Map<string, string>();
    private count = 0;

    /** Keeps the text of a function. Returns the document's name. */
    add(name: string, text: string): vscode.Uri {
        this.count += 1;
        const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}.py`, query: String(this.count) });
        this.texts.set(uri.toString(), text);
        const oldest = this.texts.keys().next();
        if (this.texts.size > MAX_TEXTS && !oldest.done) {
            this.texts.delete(oldest.value);
        }
        return uri;
    }

    provideTextDocumentContent(uri: vscode.Uri): string {
        return this.texts.get(uri.toString()) ?? "";
    }
}
