/** `npm run test:full` also tries variants that are too many for every run. */
export const isExhaustive = process.env.TEST_EXHAUSTIVE === "1";
