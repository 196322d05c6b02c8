/** One inbound message, and beside it the email that it answers. */
import { useQuery } from "@connectrpc/connect-query";
import { SimpleGrid } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { InboundService } from "../../../src/gen/v1/inbound_pb.ts";
import { useMayWrite } from "../api/session.ts";
import { InboundView } from "../inbound/message.tsx";
import { ParentEmail } from "../inbound/parent-email.tsx";
import { Back } from "../parts/back.tsx";
import { Page } from "../parts/page.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Empty, Loading } from "../parts/states.tsx";

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
        <Empty>Viewers do not see the content of messages. Owners and developers do.</Empty>
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
  const message = <InboundView inbound={inbound} body={data.body} newText={data.newText} html={data.html} />;
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
