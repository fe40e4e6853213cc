import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { parsePolicy } from "../access/policy/parse-policy.ts";
import { PolicyInput, setPolicy } from "../access/policy/policy-changes.ts";
import { checkAgreement, unknownInRequest } from "./folder-in-request.ts";
import { findPolicyFolder, FolderPolicyReply, PolicyFolderFields } from "./policy-folder.ts";
import { lockFolderExists, readLocations } from "./store/folders.ts";

/** §4.11. */
export const setFolderPolicy = operation({
  id: "folder_policy_set",
  summary: "Set the policy of a folder",
  description:
    "Applies to the folder and everything below it; a nearer policy takes precedence. Replaces the whole policy; an " +
    "empty array removes it. Actions: read, write, manage, all. Roots can have policies too.",
  tag: "Folders",
  method: "PUT",
  paths: { "v1.2": "/folders/policy" },
  access: { permission: OBJECT_PERMISSIONS.folder.manage, object: { type: "folder", action: "set-policy" } },
  body: Type.Object({ ...PolicyFolderFields, policy: PolicyInput }),
  example: {
    body: {
      location: "Common/archive",
      type: "notes",
      source_type: "Folder",
      policy: '[{"access":"allow","action":["read"]}]',
    },
  },
  reply: FolderPolicyReply,
  find: ({ given, reader, caller }) => findPolicyFolder({ reader, caller }, given()),

  async handle({ found, body, reader, caller, change }) {
    const policy = parsePolicy(body.policy, "folder");
    await checkAgreement({ reader, caller }, found, body);
    const { folderRef, policyObject } = found;
    return change(async (tx, audit) => {
      if (folderRef.folderId !== null && !(await lockFolderExists(tx, folderRef.folderId)))
        throw unknownInRequest(body);
      const shown = await setPolicy(tx, audit, policyObject, policy);
      const [location = ""] = await readLocations(tx, [folderRef]);
      return {
        status: "success" as const,
        source_id: folderRef.folderId,
        source_type: "Folder" as const,
        location,
        type: folderRef.type,
        policy: shown,
      };
    });
  },
});
