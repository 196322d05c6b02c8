/** What members may do, in the words of the dashboard. */
import { MemberRole } from "../../../src/gen/v1/workspace_pb.ts";

export const roles = [
  {
    value: MemberRole.OWNER,
    name: "Owner",
    color: "orange",
    meaning: "Everything, members and the workspace included.",
  },
  {
    value: MemberRole.DEVELOPER,
    name: "Developer",
    color: "blue",
    meaning: "Everything but members and the workspace.",
  },
  { value: MemberRole.VIEWER, name: "Viewer", color: "gray", meaning: "Reads, without the content of messages." },
] as const;

export function roleWord(role: MemberRole) {
  const known = roles.find(({ value }) => value === role);
  return { word: known?.name ?? `Role ${role}`, color: known?.color ?? "gray", meaning: known?.meaning };
}
