/**
 * The fair scheduler pools of a cluster. Contributions pass them as a property; Spark reads them from an XML file.
 */
export const POOLS_PROPERTY = "spark.headgate.pools";

export interface FairPool {
  readonly weight: number;
  readonly minShare: number;
}

export function poolsProperty(pools: Readonly<Record<string, FairPool>>): string {
  return JSON.stringify(pools);
}

export function renderPools(property: string): string {
  const pools = JSON.parse(property) as Record<string, FairPool>; // written by poolsProperty
  const entries = Object.entries(pools).map(
    ([name, { weight, minShare }]) =>
      `  <pool name="${escapeXml(name)}">\n    <schedulingMode>FAIR</schedulingMode>\n` +
      `    <weight>${weight}</weight>\n    <minShare>${minShare}</minShare>\n  </pool>\n`,
  );
  return `<?xml version="1.0"?>\n<allocations>\n${entries.join("")}</allocations>\n`;
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
}
