import { expect, test } from "vitest";
import { NO_VALUES, VALUES } from "../../../test/support/values-of-types.ts";
import { isValueOf } from "./value-of-type.ts";

test.each(VALUES)("%s: %j is one", (type, value) => expect(isValueOf(type, value)).toBe(true));
test.each(NO_VALUES)("%s: %j is none", (type, value) => expect(isValueOf(type, value)).toBe(false));
