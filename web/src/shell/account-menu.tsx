/** The menu in the header: the signed-in person, their workspaces, and sign-out. */
import { Button, Menu, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type Caller, endSession, sessionWorkspaceLimit, signOut } from "../api/session.ts";
import { MoreWorkspaces, WorkspaceItem } from "./workspace-items.tsx";

export function AccountMenu({ caller }: { caller: Caller }) {
  if (caller.kind === "key")
    return (
      <Button variant="default" size="xs" onClick={() => endSession()}>
        Sign out
      </Button>
    );
  const { person, workspace, workspaces } = caller;
  return (
    <Menu position="bottom-end" withinPortal width={260}>
      <Menu.Target>
        <Button
          variant="default"
          size="xs"
          maw={{ base: 120, xs: 240 }}
          aria-label={`Account and workspaces: ${workspace?.name ?? person.email}`}
        >
          <span className="cut">{workspace?.name ?? person.email}</span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Text size="xs" c="dimmed" px="sm" py={6} className="wrap">
          {person.name} · {person.email}
        </Text>
        <Menu.Item component={Link} to="/account">
          Your account
        </Menu.Item>
        {workspace && (
          <>
            <Menu.Divider />
            <Menu.Label>Workspaces</Menu.Label>
            <div className="menu-list">
              {workspaces.map((one) => (
                <WorkspaceItem key={one.id} workspace={one} isCurrent={one.id === workspace.id} />
              ))}
              {workspaces.length >= sessionWorkspaceLimit && (
                <MoreWorkspaces sessionWorkspaces={workspaces} current={workspace.id} />
              )}
            </div>
            <Menu.Item component={Link} to="/workspace">
              Members and settings
            </Menu.Item>
          </>
        )}
        <Menu.Divider />
        <Menu.Item onClick={signOut}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
