import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { OneOf } from "../http/schema.ts";
import { StreamReply } from "../http/stream-reply.ts";
import { notFound } from "../lib/fault.ts";
import { CELL_TYPES, NBFORMAT } from "./ipynb/stored-notebook.ts";
import { writeIpynb } from "./ipynb/write-ipynb.ts";
import { notebookInPath, NotebookParams } from "./notebook-in-path.ts";
import { sendInPieces, type WithSentContents } from "./sent-contents.ts";
import { readContentTexts } from "./store/contents.ts";

export const exportNotebook = operation({
  id: "notebook_export",
  summary: "Export a notebook as an .ipynb file",
  description: "Returns the JSON of the file (nbformat 4), with the outputs and metadata that were imported.",
  tag: "Notebooks",
  method: "GET",
  paths: { "v1.2": "/notebooks/:note_id/export" },
  access: { permission: OBJECT_PERMISSIONS.note.read, object: { type: "note", action: "read" } },
  params: NotebookParams,
  reply: Type.Object(
    {
      nbformat: Type.Literal(NBFORMAT),
      nbformat_minor: Type.Integer(),
      metadata: Type.Object({}, { additionalProperties: true }),
      cells: Type.Array(Type.Object({ cell_type: OneOf(CELL_TYPES) }, { additionalProperties: true })),
    },
    { title: "Ipynb", additionalProperties: true },
  ),
  replyHeaders: { "Content-Disposition": "The notebook's name, with the suffix .ipynb" },
  find: notebookInPath,

  async handle({ found, caller, reader, requireSlot }, { sentContents }: WithSentContents) {
    const name = encodeURIComponent(found.name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
    requireSlot("stream"); // before the content is read
    const { release } = sentContents.reserve(caller.accountId, found.bytes);
    try {
      const content = await readContentTexts(reader, "note", found.id);
      if (content === undefined) throw notFound("Notebook", found.id);
      return new StreamReply("application/json", sendInPieces(writeIpynb(content), release), {
        "Content-Disposition": `attachment; filename*=UTF-8''${name}.ipynb`,
      });
    } catch (error) {
      release();
      throw error;
    }
  },
});
