"use strict";
/** Run | Debug | Push above the `def` of a function's file. */
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
exports.Lenses = void 0;
exports.linesOf = linesOf;
const vscode = __importStar(require("vscode"));
const pulled_1 = require("./pulled");
const ACTIONS = [
    ["Run", "colonnade.run", "Call the function in this workspace, with the inputs of its query"],
    ["Debug", "colonnade.debug", "Call the function with breakpoints, with the inputs of its query"],
    ["Push", "colonnade.push", "Create or replace the function in the database"],
];
/** The lines of a document, one at a time. */
function* linesOf(document) {
    for (let line = 0; line < document.lineCount; line += 1) {
        yield document.lineAt(line).text;
    }
}
class Lenses {
    provideCodeLenses(document) {
        const line = (0, pulled_1.lineOfDef)(linesOf(document));
        if (line === undefined) {
            return [];
        }
        const range = document.lineAt(line).range;
        return ACTIONS.map(([title, command, tooltip]) => new vscode.CodeLens(range, { title, command, tooltip, arguments: [document.uri] }));
    }
}
exports.Lenses = Lenses;
