/** The frame of the operators' pages: it explains to others why they see nothing, and to operators how to get a second factor. */
import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import { useSession } from "../api/session.ts";
import { AnchorLink } from "../parts/links.tsx";
import { Page } from "../parts/page.tsx";
import { Empty } from "../parts/states.tsx";

export function OperatorPage({ title, intro, children }: { title: string; intro: string; children: ReactNode }) {
  const { state } = useSession();
  const operator = state.data?.operator;
  return (
    <Page title={title} intro={operator?.hasSecondFactor ? intro : undefined}>
      {!operator && (
        <Empty>
          Only operators of this service see this page. An operator is appointed on the server with the command{" "}
          <code>posthorn people operator EMAIL</code>.
        </Empty>
      )}
      {operator && !operator.hasSecondFactor && (
        <Empty
          action={
            <AnchorLink to="/account" size="sm">
              Your account
            </AnchorLink>
          }
        >
          <Text fw={600}>A second factor is required</Text>
          Operators can manage and delete the data of every workspace, so they need a session with a second factor. Sign
          out, then sign in with yours.
        </Empty>
      )}
      {operator?.hasSecondFactor && children}
    </Page>
  );
}
