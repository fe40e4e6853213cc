/**
 * The baseline of `sensor.ts`: a bare Fastify handler that authenticates the caller like the product and looks up one
 * name in the metastore's database. No rules, no types, no other columns.
 * Usage: node bare-sensor.ts <file with the connections and the statement that identifies>
 */
import { readFileSync } from "node:fs";
import Fastify from "fastify";
import { Pool, type PoolConfig } from "pg";
import { LOOKUP } from "./lookup.ts";

interface Recording {
  product: PoolConfig;
  metastore: PoolConfig;
  identify: { text: string; values: unknown[] };
}

const { product, metastore, identify } = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Recording; // written by sensor.ts
const [products, metastores] = [new Pool({ ...product, max: 4 }), new Pool({ ...metastore, max: 2 })];
const values = identify.values.map((value) => (isBytes(value) ? Buffer.from(value.data) : value));

const server = Fastify();
server.post<{ Body: { schema: string; table: string; name: string } }>("/lookup", async ({ body }) => {
  await products.query({ name: "identify", text: identify.text, values });
  const { rowCount } = await metastores.query({
    name: "lookup",
    text: LOOKUP,
    values: [body.schema, body.table, body.name],
  });
  return { status: rowCount === 0 ? "false" : "true" };
});
await server.listen({ host: "127.0.0.1", port: 0 });
const address = server.server.address();
process.stdout.write(
  `ready at http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}\n`,
);
process.on("SIGTERM", () => process.exit(0));

function isBytes(value: unknown): value is { type: "Buffer"; data: number[] } {
  return typeof value === "object" && value !== null && "type" in value && value.type === "Buffer";
}
