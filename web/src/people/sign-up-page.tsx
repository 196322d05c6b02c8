/** The sign-up page. It shows the form that this server allows: with a link, without one, or by email. */
import { Alert, Text } from "@mantine/core";
import { Navigate } from "@tanstack/react-router";
import { useSession } from "../api/session.ts";
import { AnchorLink } from "../parts/links.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { AuthCard } from "./auth-card.tsx";
import { LinkProblem } from "./link-problem.tsx";
import { type OpenedLink, useLink, useOpenedLink } from "./link-token.ts";
import { ProviderButtons } from "./providers.tsx";
import { SignUpByMail, SignUpForm } from "./sign-up-form.tsx";

export function SignUpPage() {
  const opened = useOpenedLink();
  const { caller } = useSession();
  if (caller?.kind === "person") return <Navigate to="/" />;
  return opened.token ? <WithLink opened={opened} /> : <WithoutLink />;
}

function WithLink({ opened }: { opened: OpenedLink }) {
  const link = useLink(opened);
  return (
    <AuthCard title="Create your account">
      {link.isPending ? (
        <Loading what="the link" rows={3} />
      ) : link.data ? (
        <SignUpForm token={opened.token} email={link.data.email} />
      ) : (
        <>
          <LinkProblem title="This link does not work" error={link.error} onRetry={() => void link.refetch()}>
            It was already used, or it has expired. Ask for a new one.
          </LinkProblem>
          <SignInLink />
        </>
      )}
    </AuthCard>
  );
}

function WithoutLink() {
  const { state } = useSession();
  const signUp = state.data?.signUp;
  const title = signUp?.first ? "Create the first account" : "Create your account";
  const intro = signUp?.first ? "The first person who signs up becomes the owner of the first workspace." : undefined;
  return (
    <AuthCard title={title} intro={intro}>
      {state.isPending && <Loading what="the sign-up options" rows={3} />}
      {state.error && <ProblemAlert error={state.error} onRetry={() => void state.refetch()} />}
      {signUp?.by === "mail" && <SignUpByMail />}
      {(signUp?.by === "link" || signUp?.by === "closed") && <Alert color="blue">{signUp.message}</Alert>}
      <ProviderButtons />
      <SignInLink />
    </AuthCard>
  );
}

function SignInLink() {
  return (
    <Text size="sm">
      Already have an account? <AnchorLink to="/">Sign in</AnchorLink>
    </Text>
  );
}
