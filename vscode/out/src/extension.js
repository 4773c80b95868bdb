"use strict";
/** Functions in Python of a database: a tree, files, breakpoints. All work is done by `colonnade udf`. */
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
exports.activate = activate;
const vscode = __importStar(require("vscode"));
const actions_1 = require("./actions");
const databases_1 = require("./databases");
const debugging_1 = require("./debugging");
const lenses_1 = require("./lenses");
const queries_1 = require("./queries");
const settings_1 = require("./settings");
const tree_1 = require("./tree");
function activate(context) {
    const output = vscode.window.createOutputChannel("Colonnade");
    const problems = vscode.languages.createDiagnosticCollection("colonnade");
    const queries = new queries_1.Queries(context.workspaceState);
    const databases = new databases_1.Databases();
    const tree = new tree_1.FunctionTree((error) => actions.failed(error));
    const actions = new actions_1.Actions(tree, queries, databases, output, problems);
    const commands = {
        refresh: async () => tree.refresh(),
        pullAll: () => actions.pull(undefined),
        pushAll: () => actions.push(undefined),
        pull: (target) => actions.pull(target),
        push: (target) => actions.push((0, actions_1.fileOf)(target) ?? (0, actions_1.needed)(target)),
        open: (target) => actions.open(target),
        diff: (target) => actions.compare(target),
        run: (target) => actions.run(target),
        debug: (target) => debug(queries, target),
        setQuery: async (target) => {
            const file = (0, actions_1.needed)(target);
            await queries.ask(file, queries.of(file).sql ?? "");
        },
    };
    for (const [name, act] of Object.entries(commands)) {
        const safe = (target) => act(target).catch((error) => actions.failed(error));
        context.subscriptions.push(vscode.commands.registerCommand(`colonnade.${name}`, safe));
    }
    context.subscriptions.push(output, problems, vscode.window.registerTreeDataProvider("colonnade.functions", tree), vscode.languages.registerCodeLensProvider({ language: "python", scheme: "file" }, new lenses_1.Lenses()), vscode.workspace.registerTextDocumentContentProvider(databases_1.SCHEME, databases), vscode.debug.registerDebugConfigurationProvider(debugging_1.TYPE, new debugging_1.Configurations(queries)), vscode.debug.registerDebugAdapterDescriptorFactory(debugging_1.TYPE, new debugging_1.Adapters()), vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("colonnade")) {
            tree.refresh();
        }
    }), vscode.workspace.onDidSaveTextDocument((document) => {
        problems.delete(document.uri);
        if (document.languageId === "python") {
            tree.refresh();
        }
    }));
}
async function debug(queries, target) {
    const file = (0, actions_1.needed)(target);
    const inputs = await queries.wanted(file);
    if (inputs !== undefined) {
        await vscode.debug.startDebugging((0, settings_1.folderOf)(file), (0, debugging_1.configuration)(file, inputs));
    }
}
