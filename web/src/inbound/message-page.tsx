/** The page of one inbound message, next to the email that it replies to. */
import { useQuery } from "@connectrpc/connect-query";
import { SimpleGrid, Stack } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { InboundService } from "../../../src/gen/v1/inbound_pb.ts";
import { useMayWrite } from "../api/session.ts";
import { Back, Page } from "../parts/page.tsx";
import { Empty, Loading, ProblemAlert } from "../parts/states.tsx";
import { Answer } from "./answer.tsx";
import { InboundView } from "./message.tsx";
import { ParentEmail } from "./parent-email.tsx";

const route = getRouteApi("/inbound/$id");
const back = <Back to="/inbound">Inbound</Back>;

export function InboundPage() {
  const { id } = route.useParams();
  const mayRead = useMayWrite();
  const options = { staleTime: Number.POSITIVE_INFINITY, enabled: mayRead };
  const query = useQuery(InboundService.method.getInbound, { id }, options);
  const { data } = query;
  if (!mayRead)
    return (
      <Page title="Inbound message" back={back}>
        <Empty>Viewers cannot see message content. Owners and developers can.</Empty>
      </Page>
    );
  if (!data?.inbound)
    return (
      <Page title="Inbound message" back={back}>
        {query.isPending ? (
          <Loading what="the message" rows={3} height={180} />
        ) : (
          <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
        )}
      </Page>
    );
  const { inbound } = data;
  const message = (
    <Stack gap="lg" miw={0}>
      <InboundView inbound={inbound} body={data.body} newText={data.newText} html={data.html} />
      <Answer inbound={inbound} />
    </Stack>
  );
  return (
    <Page key={id} title={inbound.subject || "(no subject)"} back={back}>
      {inbound.parentEmailId === "" ? (
        message
      ) : (
        <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
          {message}
          <ParentEmail id={inbound.parentEmailId} exceptId={inbound.id} />
        </SimpleGrid>
      )}
    </Page>
  );
}
