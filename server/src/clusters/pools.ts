import { Type, type Static } from "typebox";
import { invalid } from "../lib/fault.ts";

/** Pools of Spark's fair scheduler, by name. */
export interface Pool {
  readonly weight: number;
  readonly minShare: number;
}
export type Pools = Readonly<Record<string, Pool>>;

const MAX_POOLS = 100;
const NAME_LENGTH = 64;
const MAX_SHARE = 1_000_000;

export const PoolObject = Type.Object({
  weight: Type.Integer({ minimum: 1, maximum: MAX_SHARE, description: "Its share relative to other pools" }),
  min_share: Type.Integer({
    minimum: 0,
    maximum: MAX_SHARE,
    description: "Cores that the pool gets before the others share the rest",
  }),
});

const PoolInput = Type.Object({
  weight: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_SHARE, default: 1 })),
  min_share: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_SHARE, default: 0 })),
});

export const PoolsInput = Type.Unsafe<Record<string, Static<typeof PoolInput>>>(
  Type.Object(
    {},
    {
      additionalProperties: PoolInput,
      description: "Pools of the fair scheduler, by name",
      examples: [{ etl: { weight: 2, min_share: 1 } }],
    },
  ),
);

export function parsePools(input: Static<typeof PoolsInput>): Pools {
  const entries = Object.entries(input);
  if (entries.length > MAX_POOLS) throw invalid("pools", `must have at most ${MAX_POOLS} entries`);
  return Object.fromEntries(
    entries.map(([name, { weight = 1, min_share: minShare = 0 }]) => [checkName(name), { weight, minShare }]),
  );
}

export function poolsObject(pools: Pools): Record<string, Static<typeof PoolObject>> {
  return Object.fromEntries(
    Object.entries(pools).map(([name, { weight, minShare }]) => [name, { weight, min_share: minShare }]),
  );
}

/** The name is written to an XML file and sent in a header. */
function checkName(name: string): string {
  if (name.length <= NAME_LENGTH && /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(name)) return name;
  throw invalid("pools", `must have names of at most ${NAME_LENGTH} letters, digits, dots, hyphens and underscores`);
}
