/** The debug type `colonnade-udf`: debugpy runs `colonnade udf run` on a function's file. */

import * as vscode from "vscode";

import { environment, type Inputs, inputArguments, moduleArguments } from "./command";
import { linesOf } from "./lenses";
import { lineOfDef } from "./pulled";
import { type Queries } from "./queries";
import { folderOf, inputsOf, projectOf } from "./settings";

export const TYPE = "colonnade-udf";

/** The configuration by which a function's file is debugged. */
export function configuration(file: vscode.Uri, inputs: Inputs): vscode.DebugConfiguration {
    const name = `Debug ${vscode.workspace.asRelativePath(file)}`;
    return { type: TYPE, request: "launch", name, function: file.fsPath, ...defined(inputs) };
}

function defined(inputs: Inputs): Record<string, unknown> {
    return Object.fromEntries(Object.entries(inputs).filter(([, value]) => value !== undefined && value !== null));
}

export class Configurations implements vscode.DebugConfigurationProvider {
    constructor(private readonly queries: Queries) {}

    /** Without a configuration, the function of the active editor is debugged. */
    async resolveDebugConfiguration(
        _folder: vscode.WorkspaceFolder | undefined,
        given: vscode.DebugConfiguration,
    ): Promise<vscode.DebugConfiguration | undefined> {
        if (given.type) {
            return given;
        }
        const document = vscode.window.activeTextEditor?.document;
        if (document === undefined || lineOfDef(linesOf(document)) === undefined) {
            void vscode.window.showErrorMessage("Open the file of a function that was pulled from a database.");
            return undefined;
        }
        const inputs = await this.queries.wanted(document.uri);
        return inputs && configuration(document.uri, inputs);
    }

    /** What debugpy gets. */
    async resolveDebugConfigurationWithSubstitutedVariables(
        folder: vscode.WorkspaceFolder | undefined,
        given: vscode.DebugConfiguration,
    ): Promise<vscode.DebugConfiguration | undefined> {
        if (typeof given.function !== "string" || !given.function) {
            void vscode.window.showErrorMessage(`The configuration "${given.name}" has no function.`);
            return undefined;
        }
        await vscode.workspace.saveAll(false);
        const place = folder ?? folderOf();
        const project = projectOf(place);
        const inputs: Inputs = { ...inputsOf(place), ...(given as Inputs) };
        const [module, ...rest] = moduleArguments(project, "run", ["--uncaught", ...inputArguments(inputs)], [
            given.function,
        ]);
        return {
            type: TYPE,
            request: "launch",
            name: given.name,
            module,
            args: rest,
            python: [project.python],
            cwd: project.root,
            env: project.uri ? { COLONNADE_URI: project.uri } : {},
            console: "internalConsole",
            justMyCode: given.justMyCode ?? true,
            // Frames of the package that calls the function are of no interest.
            rules: [{ module: "colonnade", include: false }],
            subProcess: false,
            internalConsoleOptions: "openOnSessionStart",
        };
    }
}

export class Adapters implements vscode.DebugAdapterDescriptorFactory {
    createDebugAdapterDescriptor(session: vscode.DebugSession): vscode.DebugAdapterDescriptor {
        const project = projectOf(session.workspaceFolder ?? folderOf());
        const env = Object.fromEntries(
            Object.entries(environment(project)).filter((pair): pair is [string, string] => pair[1] !== undefined),
        );
        return new vscode.DebugAdapterExecutable(project.python, ["-m", "debugpy.adapter"], { cwd: project.root, env });
    }
}
