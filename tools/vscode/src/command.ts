/** `python -m colonnade udf …`, with its answer as JSON. Nothing here needs the editor. */

import { execFile } from "node:child_process";

/** The most that a command may write, in bytes. */
const MAX_OUTPUT = 64 << 20;

/** Where a command runs. */
export interface Project {
    /** The folder of the workspace. */
    readonly root: string;
    readonly python: string;
    /** The database; empty: as the project says. */
    readonly uri: string;
    /** The folder of the files; empty: as the project says. */
    readonly folder: string;
}

/** Which inputs a function gets. */
export interface Inputs {
    /** The query, or `@FILE`. Without it, the inputs are those that were fetched last. */
    readonly sql?: string;
    /** A file of saved inputs, instead of a query. */
    readonly inputs?: string;
    readonly call?: number;
    /** The number of rows, or of groups; 0: all. */
    readonly sample?: number;
    readonly sampleGroups?: boolean;
    readonly seed?: number | null;
    readonly compression?: string;
    readonly keyFile?: string;
    readonly offline?: boolean;
}

/** What a command has written. */
export interface Output {
    readonly status: number;
    readonly stdout: string;
    readonly stderr: string;
}

/** A command that failed, with what it wrote on standard error. */
export class CommandError extends Error {
    constructor(message: string, readonly output: Output) {
        super(message);
        this.name = "CommandError";
    }
}

/** A function, as `colonnade udf list --json` has it. */
export interface Listed {
    /** The schema, the name, and the types of the parameters. */
    readonly name: string;
    readonly schema: string;
    readonly function: string;
    readonly state: string;
    readonly path: string | null;
    readonly id: string | null;
    readonly pulled: string | null;
    readonly language: string | null;
}

/** What `pull` or `push` did with a function. */
export interface Moved {
    readonly name: string;
    readonly path: string;
    readonly result: string;
    readonly reason?: string;
}

/** A function's file that differs from the database, as `colonnade udf diff --json` has it. */
export interface Difference extends Listed {
    /** The file that `pull` would write; null if the database has no such function. */
    readonly database: string | null;
    readonly diff: string;
}

/** What `colonnade udf run --json` did: results, or the error of the function. */
export interface Ran {
    readonly results?: number;
    readonly first?: readonly unknown[];
    readonly error?: { readonly message: string; readonly line: number | null };
}

/** The arguments that say which inputs are meant. */
export function inputArguments(inputs: Inputs): string[] {
    const found: string[] = [];
    if (inputs.inputs) {
        found.push(`--inputs=${inputs.inputs}`);
    } else if (inputs.sql) {
        // In one argument, because a query may begin with a comment, which is no option.
        found.push(`--sql=${inputs.sql}`);
        if (inputs.call !== undefined && inputs.call !== 1) {
            found.push(`--call=${inputs.call}`);
        }
        if (inputs.sample) {
            found.push(`--sample=${inputs.sample}`);
            if (inputs.sampleGroups) {
                found.push("--groups");
            }
            if (inputs.seed !== undefined && inputs.seed !== null) {
                found.push(`--seed=${inputs.seed}`);
            }
        }
        if (inputs.compression && inputs.compression !== "auto") {
            found.push(`--compression=${inputs.compression}`);
        }
    }
    if (inputs.keyFile) {
        found.push(`--key-file=${inputs.keyFile}`);
    }
    if (inputs.offline) {
        found.push("--offline");
    }
    return found;
}

/** What follows `python -m`. Names may begin with a hyphen. */
export function moduleArguments(project: Project, action: string, options: string[], names: string[]): string[] {
    const folder = project.folder ? [`--dir=${project.folder}`] : [];
    return ["colonnade", "udf", action, ...folder, ...options, "--", ...names];
}

/** The variables of a command. The URI is not an argument, because other users of a machine see those. */
export function environment(project: Project): NodeJS.ProcessEnv {
    const found: NodeJS.ProcessEnv = { ...process.env, PYTHONIOENCODING: "utf-8" };
    if (project.uri) {
        found.COLONNADE_URI = project.uri;
    }
    return found;
}

/** Runs `colonnade udf ACTION`. It may fail: the caller reads the status. */
export function run(
    project: Project,
    action: string,
    options: string[],
    names: string[],
    signal?: AbortSignal,
): Promise<Output> {
    const command = ["-m", ...moduleArguments(project, action, options, names)];
    const settings = { cwd: project.root, env: environment(project), maxBuffer: MAX_OUTPUT, signal, windowsHide: true };
    return new Promise((resolve, reject) => {
        execFile(project.python, command, settings, (error, stdout, stderr) => {
            const status = error === null ? 0 : error.code;
            if (typeof status === "number") {
                resolve({ status, stdout, stderr });
                return;
            }
            const output = { status: -1, stdout, stderr };
            reject(new CommandError(`${project.python} did not run: ${error?.message ?? "unknown error"}`, output));
        });
    });
}

/** The answer of a command that writes JSON, whatever its status. */
export async function answer<T>(
    project: Project,
    action: string,
    options: string[],
    names: string[],
    signal?: AbortSignal,
): Promise<T> {
    const output = await run(project, action, ["--json", ...options], names, signal);
    if (output.stdout.trim()) {
        try {
            return JSON.parse(output.stdout) as T;
        } catch {
            // What it wrote is no answer; the next lines say why.
        }
    }
    throw new CommandError(reason(output), output);
}

/** Why a command failed: the last line of standard error, which names the cause. */
export function reason(output: Output): string {
    const lines = output.stderr.trim().split(/\r?\n/);
    const last = lines[lines.length - 1]?.replace(/^colonnade: /, "");
    return last || `the command ended with status ${output.status}`;
}
