import { PYTHON_PACKAGES } from "./python-packages.ts";
import type { PythonState } from "./python-set-up.ts";

/**
 * What to do about a program that lacked a package which the set-up brings. `startedAt`: of the program, in ISO 8601.
 * Undefined: the packages were there, so the program has run in an interpreter of its own. The advice names the server's
 * Python, because a program or its tasks may run in another one meanwhile, too.
 */
export function adviseOnPackages(python: PythonState | undefined, startedAt: string | null): string | undefined {
  switch (python?.state) {
    case undefined:
      return undefined;
    case "waiting":
    case "installing":
      return `${PYTHON_PACKAGES} are still being installed for the server's Python: run it again in a few minutes`;
    case "failed":
      return `${PYTHON_PACKAGES} cannot be installed for the server's Python: ${python.detail}; an operator finds the cause in the server's log`;
    case "absent":
      return `the server's Python has no ${PYTHON_PACKAGES}: ${python.detail}`;
    case "ready": {
      const { sinceMs } = python;
      const isLater = sinceMs !== undefined && startedAt !== null && Date.parse(startedAt) <= sinceMs;
      return isLater
        ? `${PYTHON_PACKAGES} have been installed for the server's Python since it began: run it again`
        : undefined;
    }
  }
}
