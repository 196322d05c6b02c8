/** The page of an invitation link: the person joins the workspace with a new or an existing account. */
import { Alert, Button, Stack, Text } from "@mantine/core";
import { Navigate, useNavigate } from "@tanstack/react-router";
import { type LinkKind, type Role, setAuthState, type WorkspaceOfPerson } from "../api/auth.ts";
import { chooseWorkspace, signOut, useSession } from "../api/session.ts";
import { AnchorLink } from "../parts/links.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { roles } from "../workspaces/roles.ts";
import { AuthCard } from "./auth-card.tsx";
import { LinkProblem } from "./link-problem.tsx";
import { useLink, useOpenedLink } from "./link-token.ts";
import { ProviderButtons, useSignInOptions } from "./providers.tsx";
import { SignInForm, useAuth } from "./sign-in-form.tsx";
import { SignUpForm } from "./sign-up-form.tsx";

export function InvitationPage() {
  const opened = useOpenedLink();
  const link = useLink(opened);
  const name = link.data?.workspace?.name;
  return (
    <AuthCard title={name ? `Join ${name}` : "Join a workspace"}>
      {!opened.token ? (
        <Alert color="yellow">Open the link in the invitation again. It is not kept when this page reloads.</Alert>
      ) : link.isPending ? (
        <Loading what="the invitation" rows={2} />
      ) : link.data?.kind === "invitation" ? (
        <Join token={opened.token} link={link.data} />
      ) : (
        <LinkProblem title="This invitation does not work" error={link.error} onRetry={() => void link.refetch()}>
          It may have been used or revoked, or it expired after 7 days. Ask an owner of the workspace for a new one.
        </LinkProblem>
      )}
      <AnchorLink to="/" size="sm" w="fit-content">
        Go to the dashboard
      </AnchorLink>
    </AuthCard>
  );
}

function Join({ token, link }: { token: string; link: LinkKind }) {
  const { caller } = useSession();
  const { byPassword } = useSignInOptions();
  const signedIn = caller?.kind === "person" ? caller.person : undefined;
  if (signedIn && link.email !== undefined && signedIn.email.toLowerCase() !== link.email.toLowerCase())
    return (
      <>
        <Alert color="yellow">
          <span className="wrap">
            The invitation is for {link.email}, and you are signed in as {signedIn.email}. Sign out to accept it as{" "}
            {link.email}.
          </span>
        </Alert>
        <Button onClick={signOut}>Sign out and continue</Button>
      </>
    );
  // The sign-up form below has just created the account and joined the workspace.
  if (signedIn && !link.hasAccount) return <Navigate to="/" />;
  if (!link.hasAccount)
    return (
      <>
        <Invited
          role={link.role}
          next={byPassword ? "Choose a name and a password." : `Sign in as ${link.email} to join.`}
        />
        {byPassword && <SignUpForm token={token} email={link.email} submitLabel="Create account and join" />}
        <ProviderButtons invitation={token} />
      </>
    );
  if (!signedIn)
    return (
      <>
        <Invited role={link.role} next="Sign in to accept." />
        <SignInForm email={link.email} invitation={token} />
        {link.mayCreateAccount === false && (
          <Text size="sm">
            No account yet? Open the link in the invitation email: it proves that the address is yours.
          </Text>
        )}
      </>
    );
  return (
    <>
      <Invited role={link.role} next={`You will join as ${signedIn.email}.`} />
      <Accept token={token} />
    </>
  );
}

function Invited({ role, next }: { role: Role | undefined; next: string }) {
  const known = roles.find(({ name }) => name.toLowerCase() === role);
  return (
    <Stack gap={4}>
      <Text size="sm" className="wrap">
        {role && `You were invited as ${role === "owner" ? "an" : "a"} ${role}. `}
        {next}
      </Text>
      {known && (
        <Text size="sm" c="dimmed">
          {known.name}: {known.meaning}
        </Text>
      )}
    </Stack>
  );
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
