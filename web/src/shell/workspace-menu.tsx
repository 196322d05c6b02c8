/** The switch between workspaces in the bar. */
import { UnstyledButton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type Caller, sessionWorkspaceLimit } from "../api/session.ts";
import { DownIcon } from "../parts/icons.tsx";
import { Menu } from "../parts/menu.tsx";
import { MoreWorkspaces, WorkspaceItem } from "./workspace-items.tsx";

export function WorkspaceMenu({ caller: { workspace, workspaces } }: { caller: Extract<Caller, { kind: "person" }> }) {
  if (!workspace) return null;
  return (
    <Menu position="bottom-start" width={260}>
      <Menu.Target>
        <UnstyledButton className="switch" aria-label={`Workspace: ${workspace.name}`}>
          <span className="initial" data-initials={[...workspace.name][0]?.toUpperCase()} />
          <span className="cut">{workspace.name}</span>
          <DownIcon />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <div className="menu-list">
          {workspaces.map((one) => (
            <WorkspaceItem key={one.id} workspace={one} isCurrent={one.id === workspace.id} />
          ))}
          {workspaces.length >= sessionWorkspaceLimit && (
            <MoreWorkspaces sessionWorkspaces={workspaces} current={workspace.id} />
          )}
        </div>
        <Menu.Divider />
        <Menu.Item component={Link} to="/workspace">
          Members and settings
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
