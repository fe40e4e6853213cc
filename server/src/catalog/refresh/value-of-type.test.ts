import { expect, test } from "vitest";
import { NO_VALUES, VALUES } from "../../../test/support/values-of-types.ts";
import { isValueOf } from "./value-of-type.ts";

test.each(VALUES)("%s: %j is a value", (type, value) => expect(isValueOf(type, value)).toBe(true));
test.each(NO_VALUES)("%s: %j is not a value", (type, value) => expect(isValueOf(type, value)).toBe(false));
