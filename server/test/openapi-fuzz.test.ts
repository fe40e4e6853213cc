import { fuzzOperations } from "./fuzz/fuzz-operations.ts";

/** `openapi-fuzz.full.test.ts` sends more. */
fuzzOperations(5);
