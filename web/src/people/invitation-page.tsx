/** The page of an invitation link: the person joins the workspace with a new or an existing account. */
import { Alert, Button, Stack, Text } from "@mantine/core";
import { Navigate, useNavigate } from "@tanstack/react-router";
import { type LinkKind, setAuthState, type WorkspaceOfPerson } from "../api/auth.ts";
import { chooseWorkspace, useSession } from "../api/session.ts";
import { Back } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { AuthCard } from "./auth-card.tsx";
import { useLink, useLinkToken } from "./link-token.ts";
import { SignInForm, useAuth } from "./sign-in-form.tsx";
import { SignUpForm } from "./sign-up-form.tsx";

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
            It may have been used or revoked, or it expired after seven days. Ask for a new one.
          </Alert>
        )
      )}
      <Back to="/">Start page</Back>
    </AuthCard>
  );
}

function Join({ token, link }: { token: string; link: LinkKind }) {
  const { caller } = useSession();
  const signedIn = caller?.kind === "person" ? caller.person : undefined;
  if (signedIn && link.email !== undefined && signedIn.email.toLowerCase() !== link.email.toLowerCase())
    return (
      <Alert color="yellow">
        The invitation is for {link.email}, and you are signed in as {signedIn.email}. Sign out and open the link again.
      </Alert>
    );
  // The sign-up form below has just created the account and joined the workspace.
  if (signedIn && !link.hasAccount) return <Navigate to="/" />;
  if (!link.hasAccount)
    return (
      <>
        <Text size="sm">You were invited as {link.role}. Choose a name and a password.</Text>
        <SignUpForm token={token} email={link.email} submitLabel="Create account and join" />
      </>
    );
  if (!signedIn)
    return (
      <>
        <Text size="sm">You were invited as {link.role}. Sign in to accept.</Text>
        <SignInForm email={link.email} />
        {link.mayCreateAccount === false && (
          <Text size="sm">
            No account yet? Open the link in the invitation email: it proves that the address is yours.
          </Text>
        )}
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
        Accept invitation
      </Button>
    </Stack>
  );
}
