"use strict";
/** `python -m colonnade udf …`, with its answer as JSON. Nothing here needs the editor. */
Object.defineProperty(exports, "__esModule", { value: true });
exports.CommandError = void 0;
exports.inputArguments = inputArguments;
exports.moduleArguments = moduleArguments;
exports.environment = environment;
exports.run = run;
exports.answer = answer;
exports.reason = reason;
const node_child_process_1 = require("node:child_process");
/** The most that a command may write, in bytes. */
const MAX_OUTPUT = 64 << 20;
/** A command that failed, with what it wrote on standard error. */
class CommandError extends Error {
    output;
    constructor(message, output) {
        super(message);
        this.output = output;
        this.name = "CommandError";
    }
}
exports.CommandError = CommandError;
/** The arguments that say which inputs are meant. */
function inputArguments(inputs) {
    const found = [];
    if (inputs.inputs) {
        found.push(`--inputs=${inputs.inputs}`);
    }
    else if (inputs.sql) {
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
function moduleArguments(project, action, options, names) {
    const folder = project.folder ? [`--dir=${project.folder}`] : [];
    return ["colonnade", "udf", action, ...folder, ...options, "--", ...names];
}
/** The variables of a command. The URI is not an argument, because other users of a machine see those. */
function environment(project) {
    const found = { ...process.env, PYTHONIOENCODING: "utf-8" };
    if (project.uri) {
        found.COLONNADE_URI = project.uri;
    }
    return found;
}
/** Runs `colonnade udf ACTION`. It may fail: the caller reads the status. */
function run(project, action, options, names, signal) {
    const command = ["-m", ...moduleArguments(project, action, options, names)];
    const settings = { cwd: project.root, env: environment(project), maxBuffer: MAX_OUTPUT, signal, windowsHide: true };
    return new Promise((resolve, reject) => {
        (0, node_child_process_1.execFile)(project.python, command, settings, (error, stdout, stderr) => {
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
async function answer(project, action, options, names, signal) {
    const output = await run(project, action, ["--json", ...options], names, signal);
    if (output.stdout.trim()) {
        try {
            return JSON.parse(output.stdout);
        }
        catch {
            // What it wrote is no answer; the next lines say why.
        }
    }
    throw new CommandError(reason(output), output);
}
/** Why a command failed: the last line of standard error, which names the cause. */
function reason(output) {
    const lines = output.stderr.trim().split(/\r?\n/);
    const last = lines[lines.length - 1]?.replace(/^colonnade: /, "");
    return last || `the command ended with status ${output.status}`;
}
