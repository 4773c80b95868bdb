"use strict";
/** The functions of the database as read-only documents, to compare files with. */
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
exports.Databases = exports.SCHEME = void 0;
const vscode = __importStar(require("vscode"));
exports.SCHEME = "colonnade-database";
/** How many texts are kept. */
const MAX_TEXTS = 50;
class Databases {
    texts = new Map();
    count = 0;
    /** Keeps the text of a function. Returns the document's name. */
    add(name, text) {
        this.count += 1;
        const uri = vscode.Uri.from({ scheme: exports.SCHEME, path: `/${name}.py`, query: String(this.count) });
        this.texts.set(uri.toString(), text);
        const oldest = this.texts.keys().next();
        if (this.texts.size > MAX_TEXTS && !oldest.done) {
            this.texts.delete(oldest.value);
        }
        return uri;
    }
    provideTextDocumentContent(uri) {
        return this.texts.get(uri.toString()) ?? "";
    }
}
exports.Databases = Databases;
