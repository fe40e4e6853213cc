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

/**
 * One evaluation in an interpreter of its own: nothing of the host is reachable from inside, and nothing stays for the
 * next one. Some built-in functions ignore the interpreter's memory limit, so its WebAssembly memory has a maximum size.
 * Some also ignore its time limit, so the server kills this process when a job takes too long (sandbox-process.ts).
 */
const PAGE_BYTES = 64 * 1024;
const FIRST_PAGES = 256;
const STACK_BYTES = 256 * 1024;

// The types of Node do not name it, and those of browsers name much that is not there.
declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>;
  Memory: new (pages: { initial: number; maximum: number }) => object;
};

// The package has one set of types for both module systems: for an import they show the variant one level too high.
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
  // Never disposed: after an exhausted memory that could fail, and all of it goes with the instance.
  return evaluateAll(runtime.newContext(), macros, limits);
}

/** Processor time of this thread: unlike the time that passes, it does not grow while others keep the machine busy. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function evaluateAll(context: QuickJSContext, macros: readonly Macro[], { textLength }: Limits): Outcome {
  const describe = context.unwrapResult(context.evalCode(DESCRIBE));
  const values: string[] = [];
  for (const { name, expression } of macros) {
    // In brackets it can be nothing but an expression; the line end closes a comment.
    const result = context.evalCode(`(${expression}\n)`, `${name}.js`);
    if (result.error !== undefined) return failed(context, name, result.error);
    const described = context.callFunction(describe, context.undefined, result.value, context.newNumber(textLength));
    if (described.error !== undefined) return failed(context, name, described.error);
    values.push(context.getString(described.value));
    // `$name$` is an identifier, too: earlier macros may be written either way.
    context.setProp(context.global, name, result.value);
    context.setProp(context.global, `$${name}$`, result.value);
  }
  return { kind: "values", values };
}

/** Made before anything of the user's runs, from what it keeps: a macro cannot change how the next one is read. */
const DESCRIBE = `
  (() => {
    const { Error, String } = globalThis;
    const { isFinite } = Number;
    const isoText = Function.prototype.call.bind(Date.prototype.toISOString);
    const refuse = () => { throw new Error("it must give a text, a number, true, false or a date") };
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
      if (text.length > limit) throw new Error("it gives a text of over " + limit + " characters");
      return text;
    };
  })()`;

function failed(context: QuickJSContext, name: string, error: QuickJSHandle): Outcome {
  const message = context.getProp(error, "message");
  const text = context.typeof(message) === "string" ? context.getString(message) : "it threw something";
  return { kind: "failed", name, reason: text === "interrupted" ? "it took too long" : text.slice(0, 200) };
}
