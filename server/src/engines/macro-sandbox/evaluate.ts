/**
 * Evaluates macros in a new interpreter, which cannot reach the host and leaves nothing for the next evaluation. Some
 * built-in functions ignore the interpreter's memory limit, so its WebAssembly memory has a maximum size. Some also ignore
 * its time limit, so the server kills this process if a job takes too long (sandbox-process.ts).
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import releaseSync from "@jitl/quickjs-wasmfile-release-sync";
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
} from "quickjs-emscripten-core";
import type { Limits, Macro, Outcome } from "./protocol.ts";

const PAGE_BYTES = 64 * 1024;
const FIRST_PAGES = 256;
const STACK_BYTES = 256 * 1024;

// Node's types do not declare it, and the types of browsers declare much that Node does not have.
declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>;
  Memory: new (pages: { initial: number; maximum: number }) => object;
};

// The package's types fit only CommonJS: for an import they are wrong by one level.
const releaseVariant = releaseSync as unknown as QuickJSSyncVariant;
const wasmPath = createRequire(import.meta.url).resolve("@jitl/quickjs-wasmfile-release-sync/wasm");
const interpreter = WebAssembly.compile(await readFile(wasmPath));

export async function evaluate(macros: readonly Macro[], limits: Limits): Promise<Outcome> {
  const wasmMemory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: limits.memoryBytes / PAGE_BYTES });
  const variant = newVariant(releaseVariant, { wasmModule: await interpreter, wasmMemory });
  const runtime = (await newQuickJSWASMModuleFromVariant(variant)).newRuntime();
  runtime.setMaxStackSize(STACK_BYTES);
  const limitMs = cpuMs() + limits.cpuMs;
  runtime.setInterruptHandler(() => cpuMs() > limitMs);
  // Never disposed: that could fail when memory is exhausted, and the whole instance is discarded anyway.
  return evaluateAll(runtime.newContext(), macros, limits);
}

/** CPU time of this thread. Unlike wall-clock time, it does not grow while other processes keep the machine busy. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function evaluateAll(context: QuickJSContext, macros: readonly Macro[], { textLength }: Limits): Outcome {
  const describe = context.unwrapResult(context.evalCode(DESCRIBE));
  const values: string[] = [];
  for (const { name, expression } of macros) {
    // The parentheses allow only an expression; the line break ends a comment.
    const result = context.evalCode(`(${expression}\n)`, `${name}.js`);
    if (result.error !== undefined) return failed(context, name, result.error);
    const described = context.callFunction(describe, context.undefined, result.value, context.newNumber(textLength));
    if (described.error !== undefined) return failed(context, name, described.error);
    values.push(context.getString(described.value));
    // Later macros may refer to this one as `name` or `$name$`.
    context.setProp(context.global, name, result.value);
    context.setProp(context.global, `$${name}$`, result.value);
  }
  return { kind: "values", values };
}

/** Captures the built-ins before any macro runs, so that no macro can change how the next one is converted. */
const DESCRIBE = `
  (() => {
    const { Error, String } = globalThis;
    const { isFinite } = Number;
    const isoText = Function.prototype.call.bind(Date.prototype.toISOString);
    const refuse = () => { throw new Error("it must return a string, a finite number, a boolean or a date") };
    const textOf = (value) => {
      switch (typeof value) {
        case "string": return value;
        case "boolean": case "bigint": return String(value);
        case "number": return isFinite(value) ? String(value) : refuse();
        default: try { return isoText(value) } catch { return refuse() }
      }
    };
    return (value, limit) => {
      const text = textOf(value);
      if (text.length > limit) throw new Error("it returns more than " + limit + " characters");
      return text;
    };
  })()`;

function failed(context: QuickJSContext, name: string, error: QuickJSHandle): Outcome {
  const message = context.getProp(error, "message");
  const text =
    context.typeof(message) === "string" ? context.getString(message) : "it threw a value that is not an error";
  return { kind: "failed", name, reason: text === "interrupted" ? "it took too long" : text.slice(0, 200) };
}
