/** The page of a person without a workspace: they create one, or ask for an invitation where people may not create workspaces. */
import { Button, Group, Text } from "@mantine/core";
import { signOut } from "../api/session.ts";
import { AnchorLink } from "../parts/links.tsx";
import { AuthCard } from "../people/auth-card.tsx";
import { CreateWorkspaceForm } from "../workspaces/create-workspace.tsx";

export function NoWorkspace({ email, mayCreate }: { email: string; mayCreate: boolean }) {
  if (mayCreate)
    return (
      <AuthCard title="Create a workspace">
        <CreateWorkspaceForm />
      </AuthCard>
    );
  return (
    <AuthCard title="No workspace">
      <Text size="sm" className="wrap">
        You are not a member of any workspace. Ask an owner to invite you as {email}, then open the link in the
        invitation.
      </Text>
      <Group gap="md">
        <Button variant="default" onClick={signOut}>
          Sign out
        </Button>
        <AnchorLink to="/account" size="sm">
          Your account
        </AnchorLink>
      </Group>
    </AuthCard>
  );
}
