import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { shownPolicy } from "../access/policy/policy-changes.ts";
import { checkAgreement } from "./folder-in-request.ts";
import { findPolicyFolder, FolderPolicyReply, PolicyFolderFields } from "./policy-folder.ts";

/** A client can send the fields in the query or in a JSON body. */
export const viewFolderPolicy = operation({
  id: "folder_policy_view",
  summary: "View the policy of a folder",
  description: "Shows the folder's own policy, without users and groups that no longer exist.",
  tag: "Folders",
  method: "GET",
  paths: { "v1.2": "/folders/policy" },
  access: { permission: OBJECT_PERMISSIONS.folder.manage, object: { type: "folder", action: "view-policy" } },
  query: Type.Object(PolicyFolderFields),
  example: { query: { location: "Common", type: "notes" } },
  reply: FolderPolicyReply,
  find: ({ given, reader, caller }) => findPolicyFolder({ reader, caller }, given()),

  async handle({ found, query, reader, caller }) {
    await checkAgreement({ reader, caller }, found, query);
    const { folderRef, location, policyObject } = found;
    return {
      status: "success" as const,
      source_id: folderRef.folderId,
      source_type: "Folder" as const,
      location,
      type: folderRef.type,
      policy: await shownPolicy(reader, policyObject),
    };
  },
});
