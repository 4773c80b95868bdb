"use strict";
var __importDefault = (this && this.__importDefault) || function (mod) {
    return (mod && mod.__esModule) ? mod : { "default": mod };
};
Object.defineProperty(exports, "__esModule", { value: true });
const strict_1 = __importDefault(require("node:assert/strict"));
const node_test_1 = require("node:test");
const command_1 = require("../src/command");
const pulled_1 = require("../src/pulled");
const project = { root: process.cwd(), python: process.execPath, uri: "", folder: "" };
(0, node_test_1.test)("a query is one argument, and options of samples need a query", () => {
    strict_1.default.deepEqual((0, command_1.inputArguments)({ sql: "-- all\nSELECT f(x) FROM t", call: 1, sample: 0, seed: null }), [
        "--sql=-- all\nSELECT f(x) FROM t",
    ]);
    const all = { sql: "@q.sql", call: 2, sample: 10, sampleGroups: true, seed: 0, compression: "plain", keyFile: "k" };
    strict_1.default.deepEqual((0, command_1.inputArguments)(all), [
        "--sql=@q.sql",
        "--call=2",
        "--sample=10",
        "--groups",
        "--seed=0",
        "--compression=plain",
        "--key-file=k",
    ]);
    strict_1.default.deepEqual((0, command_1.inputArguments)({ sql: "", call: 2, sample: 10, keyFile: "k", offline: true }), [
        "--key-file=k",
        "--offline",
    ]);
    strict_1.default.deepEqual((0, command_1.inputArguments)({ sql: "SELECT 1", inputs: "saved.arrow" }), ["--inputs=saved.arrow"]);
});
(0, node_test_1.test)("names are behind all options", () => {
    strict_1.default.deepEqual((0, command_1.moduleArguments)({ ...project, folder: "-d" }, "pull", ["--force"], ["--x"]), [
        "colonnade",
        "udf",
        "pull",
        "--dir=-d",
        "--force",
        "--",
        "--x",
    ]);
});
(0, node_test_1.test)("a command that does not exist or fails is an error that says so", async () => {
    const missing = { ...project, python: "/nowhere/python" };
    await strict_1.default.rejects((0, command_1.run)(missing, "list", [], []), (error) => {
        (0, strict_1.default)(error instanceof command_1.CommandError);
        strict_1.default.match(error.message, /nowhere.*did not run/);
        return true;
    });
    // Node as the interpreter: it takes no `-m`, and its status is not 0.
    await strict_1.default.rejects((0, command_1.answer)(project, "list", [], []), (error) => {
        (0, strict_1.default)(error instanceof command_1.CommandError);
        (0, strict_1.default)(error.output.status > 0 && error.message.length > 0);
        return true;
    });
});
(0, node_test_1.test)("files of functions are told from others by their first line", () => {
    const head = "# CREATE FUNCTION public.f(i integer) RETURNS integer LANGUAGE python_map";
    strict_1.default.equal((0, pulled_1.lineOfDef)([head, "# id new", "import numpy", "def f(i):", "    return i"]), 3);
    strict_1.default.equal((0, pulled_1.lineOfDef)([head.replace("CREATE", "create or replace"), "def f(i):"]), 1);
    strict_1.default.equal((0, pulled_1.lineOfDef)(["# a comment", head, "def f(i):"]), undefined);
    strict_1.default.equal((0, pulled_1.lineOfDef)(["def f(i):"]), undefined);
    strict_1.default.equal((0, pulled_1.lineOfDef)([]), undefined);
});
