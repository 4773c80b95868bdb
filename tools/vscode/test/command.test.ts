import assert from "node:assert/strict";
import { test } from "node:test";

import { answer, CommandError, inputArguments, moduleArguments, type Project, run } from "../src/command";
import { lineOfDef } from "../src/pulled";

const project: Project = { root: process.cwd(), python: process.execPath, uri: "", folder: "" };

test("a query is one argument, and options of samples need a query", () => {
    assert.deepEqual(inputArguments({ sql: "-- all\nSELECT f(x) FROM t", call: 1, sample: 0, seed: null }), [
        "--sql=-- all\nSELECT f(x) FROM t",
    ]);
    const all = { sql: "@q.sql", call: 2, sample: 10, sampleGroups: true, seed: 0, compression: "plain", keyFile: "k" };
    assert.deepEqual(inputArguments(all), [
        "--sql=@q.sql",
        "--call=2",
        "--sample=10",
        "--groups",
        "--seed=0",
        "--compression=plain",
        "--key-file=k",
    ]);
    assert.deepEqual(inputArguments({ sql: "", call: 2, sample: 10, keyFile: "k", offline: true }), [
        "--key-file=k",
        "--offline",
    ]);
    assert.deepEqual(inputArguments({ sql: "SELECT 1", inputs: "saved.arrow" }), ["--inputs=saved.arrow"]);
});

test("names are behind all options", () => {
    assert.deepEqual(moduleArguments({ ...project, folder: "-d" }, "pull", ["--force"], ["--x"]), [
        "colonnade",
        "udf",
        "pull",
        "--dir=-d",
        "--force",
        "--",
        "--x",
    ]);
});

test("a command that does not exist or fails is an error that says so", async () => {
    const missing = { ...project, python: "/nowhere/python" };
    await assert.rejects(run(missing, "list", [], []), (error) => {
        assert(error instanceof CommandError);
        assert.match(error.message, /nowhere.*did not run/);
        return true;
    });
    // Node as the interpreter: it takes no `-m`, and its status is not 0.
    await assert.rejects(answer(project, "list", [], []), (error) => {
        assert(error instanceof CommandError);
        assert(error.output.status > 0 && error.message.length > 0);
        return true;
    });
});

test("files of functions are told from others by their first line", () => {
    const head = "# CREATE FUNCTION public.f(i integer) RETURNS integer LANGUAGE python_map";
    assert.equal(lineOfDef([head, "# id new", "import numpy", "def f(i):", "    return i"]), 3);
    assert.equal(lineOfDef([head.replace("CREATE", "create or replace"), "def f(i):"]), 1);
    assert.equal(lineOfDef(["# a comment", head, "def f(i):"]), undefined);
    assert.equal(lineOfDef(["def f(i):"]), undefined);
    assert.equal(lineOfDef([]), undefined);
});
