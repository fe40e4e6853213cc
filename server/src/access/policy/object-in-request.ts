import { Type } from "typebox";
import type { Queryable } from "../../db/database.ts";
import { OneOf } from "../../http/schema.ts";
import { invalid, type Fault } from "../../lib/fault.ts";
import type { ObjectFinder, WithObjectFinders } from "./object-finder.ts";
import { unknownObject } from "./unknown-object.ts";
import { SOURCE_TYPES, type ObjectType, type PolicyObject } from "./policy.ts";

/** The fields that name an object: in the body of a PUT, in the query or the body of a GET. */
export const SourceFields = {
  source_id: Type.String({ minLength: 1, maxLength: 20, description: "The id of the object", examples: ["1"] }),
  source_type: OneOf(SOURCE_TYPES, { description: "The type of the object", examples: ["note"] }),
};

interface NamedObject<Type> {
  readonly type: Type;
  readonly id: number;
  /** Undefined: there is no such object. */
  readonly policyObject: PolicyObject | undefined;
  readonly missing: () => Fault;
  readonly finder: ObjectFinder | undefined;
}

export async function objectInRequest<Type extends ObjectType>(
  { source_type: givenType, source_id: givenId }: Readonly<Record<string, unknown>>,
  types: readonly Type[],
  reader: Queryable,
  { objectFinders }: WithObjectFinders,
): Promise<NamedObject<Type>> {
  if (givenType === undefined) throw invalid("source_type", "is required");
  const type = types.find((each) => each === givenType);
  if (type === undefined) throw invalid("source_type", `must be one of ${types.join(", ")}`);
  if (givenId === undefined) throw invalid("source_id", "is required");
  const id = typeof givenId === "string" && /^\d{1,16}$/.test(givenId.trim()) ? Number(givenId) : NaN;
  if (!Number.isSafeInteger(id)) {
    throw invalid(
      "source_id",
      "must be the id of an object, which is a whole number: lists such as GET clusters show it",
    );
  }
  const finder = objectFinders[type];
  return { type, id, finder, missing: () => unknownObject(type, id), policyObject: await finder?.find(reader, id) };
}
