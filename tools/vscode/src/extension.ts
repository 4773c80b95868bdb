/** Functions in Python of a database: a tree, files, breakpoints. All work is done by `colonnade udf`. */

import * as vscode from "vscode";

import { Actions, fileOf, needed, type Target } from "./actions";
import { Databases, SCHEME } from "./databases";
import { Adapters, configuration, Configurations, TYPE } from "./debugging";
import { Lenses } from "./lenses";
import { Queries } from "./queries";
import { folderOf } from "./settings";
import { FunctionTree } from "./tree";

export function activate(context: vscode.ExtensionContext): void {
    const output = vscode.window.createOutputChannel("Colonnade");
    const problems = vscode.languages.createDiagnosticCollection("colonnade");
    const queries = new Queries(context.workspaceState);
    const databases = new Databases();
    const tree = new FunctionTree((error) => actions.failed(error));
    const actions = new Actions(tree, queries, databases, output, problems);

    const commands: Record<string, (target: Target) => Promise<void>> = {
        refresh: async () => tree.refresh(),
        pullAll: () => actions.pull(undefined),
        pushAll: () => actions.push(undefined),
        pull: (target) => actions.pull(target),
        push: (target) => actions.push(fileOf(target) ?? needed(target)),
        open: (target) => actions.open(target),
        diff: (target) => actions.compare(target),
        run: (target) => actions.run(target),
        debug: (target) => debug(queries, target),
        setQuery: async (target) => {
            const file = needed(target);
            await queries.ask(file, queries.of(file).sql ?? "");
        },
    };
    for (const [name, act] of Object.entries(commands)) {
        const safe = (target: Target) => act(target).catch((error: unknown) => actions.failed(error));
        context.subscriptions.push(vscode.commands.registerCommand(`colonnade.${name}`, safe));
    }

    context.subscriptions.push(
        output,
        problems,
        vscode.window.registerTreeDataProvider("colonnade.functions", tree),
        vscode.languages.registerCodeLensProvider({ language: "python", scheme: "file" }, new Lenses()),
        vscode.workspace.registerTextDocumentContentProvider(SCHEME, databases),
        vscode.debug.registerDebugConfigurationProvider(TYPE, new Configurations(queries)),
        vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, new Adapters()),
        vscode.workspace.onDidChangeConfiguration((event) => {
            if (event.affectsConfiguration("colonnade")) {
                tree.refresh();
            }
        }),
        vscode.workspace.onDidSaveTextDocument((document) => {
            problems.delete(document.uri);
            if (document.languageId === "python") {
                tree.refresh();
            }
        }),
    );
}

async function debug(queries: Queries, target: Target): Promise<void> {
    const file = needed(target);
    const inputs = await queries.wanted(file);
    if (inputs !== undefined) {
        await vscode.debug.startDebugging(folderOf(file), configuration(file, inputs));
    }
}
