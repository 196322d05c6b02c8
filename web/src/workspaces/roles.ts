/** Labels and descriptions of the roles of members. */
import { MemberRole } from "../../../src/gen/v1/workspace_pb.ts";

export const roles = [
  {
    value: MemberRole.OWNER,
    name: "Owner",
    color: "gold",
    meaning: "Full access, including members and the workspace itself.",
  },
  {
    value: MemberRole.DEVELOPER,
    name: "Developer",
    color: "gray",
    meaning: "Full access, except to members and the workspace itself.",
  },
  { value: MemberRole.VIEWER, name: "Viewer", color: "gray", meaning: "Read access, without message content." },
] as const;

export function roleLabel(role: MemberRole) {
  const known = roles.find(({ value }) => value === role);
  return { text: known?.name ?? `Role ${role}`, color: known?.color ?? "gray", meaning: known?.meaning };
}
