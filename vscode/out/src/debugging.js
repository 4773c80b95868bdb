"use strict";
/** The debug type `colonnade-udf`: debugpy runs `colonnade udf run` on a function's file. */
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
exports.Adapters = exports.Configurations = exports.TYPE = void 0;
exports.configuration = configuration;
const vscode = __importStar(require("vscode"));
const command_1 = require("./command");
const lenses_1 = require("./lenses");
const pulled_1 = require("./pulled");
const settings_1 = require("./settings");
exports.TYPE = "colonnade-udf";
/** The configuration by which a function's file is debugged. */
function configuration(file, inputs) {
    const name = `Debug ${vscode.workspace.asRelativePath(file)}`;
    return { type: exports.TYPE, request: "launch", name, function: file.fsPath, ...defined(inputs) };
}
function defined(inputs) {
    return Object.fromEntries(Object.entries(inputs).filter(([, value]) => value !== undefined && value !== null));
}
class Configurations {
    queries;
    constructor(queries) {
        this.queries = queries;
    }
    /** Without a configuration, the function of the active editor is debugged. */
    async resolveDebugConfiguration(_folder, given) {
        if (given.type) {
            return given;
        }
        const document = vscode.window.activeTextEditor?.document;
        if (document === undefined || (0, pulled_1.lineOfDef)((0, lenses_1.linesOf)(document)) === undefined) {
            void vscode.window.showErrorMessage("Open the file of a function that was pulled from a database.");
            return undefined;
        }
        const inputs = await this.queries.wanted(document.uri);
        return inputs && configuration(document.uri, inputs);
    }
    /** What debugpy gets. */
    async resolveDebugConfigurationWithSubstitutedVariables(folder, given) {
        if (typeof given.function !== "string" || !given.function) {
            void vscode.window.showErrorMessage(`The configuration "${given.name}" has no function.`);
            return undefined;
        }
        await vscode.workspace.saveAll(false);
        const place = folder ?? (0, settings_1.folderOf)();
        const project = (0, settings_1.projectOf)(place);
        const inputs = { ...(0, settings_1.inputsOf)(place), ...given };
        const [module, ...rest] = (0, command_1.moduleArguments)(project, "run", ["--uncaught", ...(0, command_1.inputArguments)(inputs)], [
            given.function,
        ]);
        return {
            type: exports.TYPE,
            request: "launch",
            name: given.name,
            module,
            args: rest,
            python: [project.python],
            cwd: project.root,
            env: project.uri ? { COLONNADE_URI: project.uri } : {},
            console: "internalConsole",
            justMyCode: given.justMyCode ?? true,
            subProcess: false,
            internalConsoleOptions: "openOnSessionStart",
        };
    }
}
exports.Configurations = Configurations;
class Adapters {
    createDebugAdapterDescriptor(session) {
        const project = (0, settings_1.projectOf)(session.workspaceFolder ?? (0, settings_1.folderOf)());
        const env = Object.fromEntries(Object.entries((0, command_1.environment)(project)).filter((pair) => pair[1] !== undefined));
        return new vscode.DebugAdapterExecutable(project.python, ["-m", "debugpy.adapter"], { cwd: project.root, env });
    }
}
exports.Adapters = Adapters;
