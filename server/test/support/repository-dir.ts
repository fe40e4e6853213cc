import { fileURLToPath } from "node:url";

export const repositoryDir = fileURLToPath(new URL("../../..", import.meta.url));
