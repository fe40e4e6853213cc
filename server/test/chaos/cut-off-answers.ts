const REQUESTS = ["GET account", "POST commands"] as const;

/** An answer of a node that is cut off from its database. Pure. */
export interface CutOffAnswer {
  readonly request: (typeof REQUESTS)[number];
  /** Whether the node had open connections when it was asked, or had to make new ones. */
  readonly connections: "open" | "new";
  /** Null: there was none. */
  readonly status: number | null;
  readonly seconds: number;
}

const PROMISED_SECONDS = 5;
/** For faults that strike the node at the same time, and for a machine that is busy with them. */
const SLACK_SECONDS = { usual: 3, overloaded: 15 };

/** The answers that are not 503, or that came too late. */
export function lateAnswersOf(answers: readonly CutOffAnswer[], isOverloaded: boolean): string[] {
  const limit = PROMISED_SECONDS + SLACK_SECONDS[isOverloaded ? "overloaded" : "usual"];
  return answers
    .filter(({ status, seconds }) => status !== 503 || seconds > limit)
    .map(
      (answer) =>
        `${nameOf(answer)} of a node without its database: ${answer.status ?? "no answer"} after ${answer.seconds.toFixed(1)} s`,
    );
}

/** Without an answer of each kind, a run proves too little. */
export function neverAskedOn(connections: CutOffAnswer["connections"], answers: readonly CutOffAnswer[]): string[] {
  const asked = answers.filter((answer) => answer.connections === connections);
  return REQUESTS.every((request) => asked.some((answer) => answer.request === request))
    ? []
    : [`the node was not asked on ${connections} connections while it was cut off`];
}

/** The longest time, in seconds, that each kind of request took. */
export function slowestAnswers(answers: readonly CutOffAnswer[]): Record<string, number> {
  const kinds = Map.groupBy(answers, nameOf);
  return Object.fromEntries([...kinds].map(([kind, all]) => [kind, Math.max(...all.map(({ seconds }) => seconds))]));
}

const nameOf = ({ request, connections }: CutOffAnswer): string => `${request} on ${connections} connections`;
