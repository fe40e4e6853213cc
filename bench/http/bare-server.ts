/**
 * The baseline of `run.ts`: a bare Fastify handler that sends the same SQL, recorded from the product's own stores,
 * over the same driver, and returns the rows. No validation, no access rules, no logs, no metrics.
 * Usage: node bare-server.ts <file with the recorded statements>
 */
import Fastify from "fastify";
import { Pool, types } from "pg";
import { readFileSync } from "node:fs";
import type { BenchOperation, Statement } from "./record-statements.ts";

interface Recording {
  connection: Record<string, unknown>;
  operations: Record<string, BenchOperation>;
}

/** The placeholders in the recorded statements: for the value of each request, and for the id that it reserved. */
const PLACEHOLDER = "203.0.113.7/32";
const RESERVED_ID = -1;

const recording = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Recording; // written by run.ts
const pool = new Pool({
  max: 16,
  pipeline: true,
  types: {
    getTypeParser: (oid, format) =>
      oid === types.builtins.INT8 ? Number : (types.getTypeParser(oid, format) as never),
  },
  ...recording.connection,
});
const server = Fastify();
const names = new Map<string, string>();

function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `b${names.size}`;
    names.set(text, name);
  }
  return name;
}

function revived(values: readonly unknown[], body: unknown, id: unknown): unknown[] {
  const given = typeof body === "object" && body !== null && "ip_cidr" in body ? body.ip_cidr : undefined;
  return values.map((value) => {
    if (isBytes(value)) return Buffer.from(value.data);
    if (value === RESERVED_ID) return id;
    return value === PLACEHOLDER && given !== undefined ? given : value;
  });
}

function isBytes(value: unknown): value is { type: "Buffer"; data: number[] } {
  return typeof value === "object" && value !== null && "type" in value && value.type === "Buffer";
}

for (const { method, path, identify, reserve, begin, statements } of Object.values(recording.operations)) {
  server.route({
    method,
    url: path,
    async handler(request) {
      let id: unknown;
      const run = ({ text, values }: Statement): Promise<{ rows: unknown[] }> =>
        client.query({ name: nameOf(text), text, values: revived(values, request.body, id) });
      const client = await pool.connect();
      try {
        await run(identify);
        // The same round trips as the product. With a reserved id the whole transaction is one round trip;
        // otherwise the first statement is sent with begin, the rest with commit.
        if (reserve !== undefined) {
          const { rows } = await run(reserve);
          ({ id } = rows[0] as { id: number }); // the statement returns one row
          await Promise.all([client.query(begin), ...statements.map(run), client.query("commit")]);
          return { rows };
        }
        const begun = client.query(begin);
        const [first, ...rest] = statements;
        const answer = first === undefined ? { rows: [] } : await run(first);
        await Promise.all([begun, ...rest.map(run), client.query("commit")]);
        return { rows: answer.rows };
      } finally {
        client.release();
      }
    },
  });
}

await server.listen({ host: "127.0.0.1", port: 0 });
const address = server.server.address();
process.stdout.write(
  `ready at http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}\n`,
);
process.on("SIGTERM", () => process.exit(0));
