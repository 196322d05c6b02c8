/** Joins a workspace by invitation: with a new account, or with the one that the address already has. */
import { Alert, Button, Stack, Text } from "@mantine/core";
import { Navigate, useNavigate } from "@tanstack/react-router";
import { type LinkKind, setAuthState, type WorkspaceOfPerson } from "../api/auth.ts";
import { chooseWorkspace, useSession } from "../api/session.ts";
import { Back } from "../parts/back.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Loading } from "../parts/states.tsx";
import { AuthCard } from "../people/auth-card.tsx";
import { useLink, useLinkToken } from "../people/link-token.ts";
import { SignInForm } from "../people/sign-in-form.tsx";
import { SignUpForm } from "../people/sign-up-form.tsx";
import { useAuth } from "../people/use-auth.ts";

export function InvitationPage() {
  const token = useLinkToken();
  const link = useLink(token);
  const name = link.data?.workspace?.name;
  return (
    <AuthCard title={name ? `Join ${name}` : "Join a workspace"}>
      {token && link.isPending && <Loading what="the invitation" rows={2} />}
      {token && link.data?.kind === "invitation" ? (
        <Join token={token} link={link.data} />
      ) : (
        !link.isLoading && (
          <Alert color="red" title="This invitation does not work" role="alert">
            It may have been used already, taken back, or its seven days are over. Ask for a new one.
          </Alert>
        )
      )}
      <Back to="/">To the start</Back>
    </AuthCard>
  );
}

function Join({ token, link }: { token: string; link: LinkKind }) {
  const { caller } = useSession();
  const signedIn = caller?.kind === "person" ? caller.person : undefined;
  if (signedIn && link.email !== undefined && signedIn.email.toLowerCase() !== link.email.toLowerCase())
    return (
      <Alert color="yellow">
        The invitation is for {link.email}, and you are signed in as {signedIn.email}. Sign out and open it again.
      </Alert>
    );
  // Joined just now, with the account that the form made.
  if (signedIn && !link.hasAccount) return <Navigate to="/" />;
  if (!link.hasAccount)
    return (
      <>
        <Text size="sm">You were invited as {link.role}. Choose a name and a password.</Text>
        <SignUpForm token={token} email={link.email} act="Create account and join" />
      </>
    );
  if (!signedIn)
    return (
      <>
        <Text size="sm">You were invited as {link.role}. Sign in to accept.</Text>
        <SignInForm email={link.email} />
      </>
    );
  return <Accept token={token} />;
}

function Accept({ token }: { token: string }) {
  const navigate = useNavigate();
  const { send, isPending, error } = useAuth<{ workspace: WorkspaceOfPerson }>("accept-invitation", ({ workspace }) => {
    setAuthState((before) => ({
      ...before,
      workspaces: [workspace, ...before.workspaces.filter(({ id }) => id !== workspace.id)],
    }));
    chooseWorkspace(workspace.id);
    void navigate({ to: "/" });
  });
  return (
    <Stack>
      {error && <ProblemAlert error={error} />}
      <Button loading={isPending} onClick={() => send({ token })}>
        Accept the invitation
      </Button>
    </Stack>
  );
}
