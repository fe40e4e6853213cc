import { startDetached } from "./detached-process.ts";
import type { SpawnReply, SpawnRequest } from "./spawner.ts";

process.on("SIGINT", () => undefined); // Ctrl-C is for the server; this process ends with it
process.on("disconnect", () => process.exit(0));
process.on("message", ({ id, program }: SpawnRequest) => {
  const reply = (answer: SpawnReply): void => void process.send?.(answer);
  startDetached(program).then(
    (handle) => reply({ id, handle }),
    (error: unknown) => {
      const { message, code } = error as NodeJS.ErrnoException; // from spawn or open
      reply({ id, error: { message, code } });
    },
  );
});
