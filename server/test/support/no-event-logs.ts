/** For drivers whose progress is not read. */
export const noEventLogs = { progress: () => Promise.resolve(undefined) };
