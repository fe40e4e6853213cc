import { codecOf } from "../codecs/codec-table.ts";
import type { SortedRecords } from "../sorted-file/sorted-records.ts";
import { checkOutputs, type SortedPlan } from "./check-outputs.ts";
import { groupSources } from "./group-sources.ts";
import type { NewSources } from "./new-sources.ts";
import { checkDecodable, checkName, numberedName, outputName, recodingOf } from "./output-names.ts";
import { encodeSingle, memberKey } from "./output-record.ts";
import type { PlanContext, PlanOptions } from "./plan-context.ts";
import { TURN_RECORDS, type PlanFiles } from "./plan-files.ts";
import type { SourceFile } from "./planned-output.ts";
import { SEPARATOR, sourceValue } from "./source-record.ts";

interface SortOptions {
  readonly sources: NewSources;
  readonly options: PlanOptions;
  readonly context: PlanContext;
  readonly files: PlanFiles;
}

/** Plans and checks all outputs. They are sorted by the bytes of their names. */
export async function sortOutputs(given: SortOptions): Promise<SortedPlan> {
  const { options, context } = given;
  const { destinationScheme, manifestName, largestBytes, signal } = context;
  const members = options.groupBy === null ? null : await sortMembers(given);
  const unnumbered = members === null ? await sortSingles(given) : await sortGroups(members, given);
  const { startingIndex } = options;
  const outputs = startingIndex === null ? unnumbered : await numberOutputs(unnumbered, startingIndex, given.files);
  await checkOutputs({ outputs, members }, destinationScheme, { manifestName, largestBytes, signal });
  return { outputs, members };
}

function sortMembers({ sources, files }: SortOptions): Promise<SortedRecords> {
  return files.sort((sorter) =>
    sources.each((source, groupKey) => sorter.add(memberKey(groupKey, source), sourceValue(source))),
  );
}

function sortSingles({ sources, options, context, files }: SortOptions): Promise<SortedRecords> {
  const { outputCodec } = options;
  return files.sort((sorter) =>
    sources.each((source) => {
      const name = outputCodec === null ? source.name : outputName(source.name, outputCodec);
      checkName(name, context.destinationScheme, source);
      const codec = outputCodec === null ? null : codecOf(source.name);
      checkDecodable(source, codec, outputCodec);
      const recoding = recodingOf([codec], 1, outputCodec);
      sorter.add(outputKey(name, source, options), encodeSingle(source, recoding));
    }),
  );
}

function sortGroups(members: SortedRecords, { options, context, files }: SortOptions): Promise<SortedRecords> {
  return files.sort(async (sorter) => {
    for (const { name, value, first } of groupSources(members, options)) {
      checkName(name, context.destinationScheme, first);
      sorter.add(outputKey(name, first, options), value);
      if (sorter.count % TURN_RECORDS === 0) await files.turn();
    }
  });
}

/** Outputs of the same name get different numbers, in the order of their sources. */
function outputKey(name: string, first: SourceFile, { startingIndex }: PlanOptions): string {
  return startingIndex === null ? name : `${name}${SEPARATOR}${first.uri}`;
}

/** Numbers follow the order of the names without them. */
async function numberOutputs(
  unnumbered: SortedRecords,
  startingIndex: number,
  files: PlanFiles,
): Promise<SortedRecords> {
  const numbered = await files.sort(async (sorter) => {
    let previous = "";
    let number = startingIndex;
    for (const cursor = unnumbered.cursor(); cursor.advance();) {
      const { key, value } = cursor;
      if (key === previous) continue; // its source was listed twice
      previous = key;
      sorter.add(numberedName(key.slice(0, key.indexOf(SEPARATOR)), number), value);
      number += 1;
      if (sorter.count % TURN_RECORDS === 0) await files.turn();
    }
  });
  files.release(unnumbered);
  return numbered;
}
