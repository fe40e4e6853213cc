import { types, type CustomTypesConfig } from "pg";

/** bigint[]; the driver has names for scalar types only. */
const INT8_ARRAY: number = 1016;

/** Ids and counts are bigint in the database and exact as numbers up to 2^53. */
export const integersAsNumbers: CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    if (oid === types.builtins.INT8) return Number;
    const parse = types.getTypeParser(oid, format) as (text: string) => unknown; // typed `any` by the driver
    const id: number = oid;
    return id === INT8_ARRAY ? (text: string) => numbersOf(parse(text)) : parse;
  },
};

function numbersOf(texts: unknown): unknown {
  return Array.isArray(texts) ? texts.map((each: unknown) => (each === null ? null : Number(each))) : texts;
}
