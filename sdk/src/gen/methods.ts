// Generated from the contract in proto/ by "npm run generate": every method with the types of its request and its response. Not to be edited.
import type {
  AddDomainRequest,
  AddDomainResponse,
  GetDomainRequest,
  GetDomainResponse,
  ListDomainsRequest,
  ListDomainsResponse,
  VerifyDomainRequest,
  VerifyDomainResponse,
  DeleteDomainRequest,
  DeleteDomainResponse,
  RotateDkimRequest,
  RotateDkimResponse,
  PublishToLocalDnsRequest,
  PublishToLocalDnsResponse,
} from "./domain.ts";
import type {
  SendEmailRequest,
  SendEmailResponse,
  StreamEventsRequest,
  StreamEventsResponse,
  GetEmailRequest,
  GetEmailResponse,
  ListEmailsRequest,
  ListEmailsResponse,
  CancelEmailRequest,
  CancelEmailResponse,
  GetEmailContentRequest,
  GetEmailContentResponse,
  SendEmailBatchRequest,
  SendEmailBatchResponse,
  ListEventsRequest,
  ListEventsResponse,
} from "./email.ts";
import type {
  ListInboundRequest,
  ListInboundResponse,
  GetInboundRequest,
  GetInboundResponse,
  GetInboundContentRequest,
  GetInboundContentResponse,
  GetInboundAttachmentRequest,
  GetInboundAttachmentResponse,
} from "./inbound.ts";
import type {
  CreateKeyRequest,
  CreateKeyResponse,
  ListKeysRequest,
  ListKeysResponse,
  RevokeKeyRequest,
  RevokeKeyResponse,
} from "./key.ts";
import type {
  ListDestinationsRequest,
  ListDestinationsResponse,
  RetryDestinationRequest,
  RetryDestinationResponse,
  PauseDestinationRequest,
  PauseDestinationResponse,
  ResumeDestinationRequest,
  ResumeDestinationResponse,
  PurgeDestinationRequest,
  PurgeDestinationResponse,
} from "./queue.ts";
import type {
  GetStatsRequest,
  GetStatsResponse,
} from "./stats.ts";
import type {
  ListSuppressionsRequest,
  ListSuppressionsResponse,
  AddSuppressionRequest,
  AddSuppressionResponse,
  RemoveSuppressionRequest,
  RemoveSuppressionResponse,
  ImportSuppressionsRequest,
  ImportSuppressionsResponse,
  ExportSuppressionsRequest,
  ExportSuppressionsResponse,
} from "./suppression.ts";
import type {
  CreateWebhookRequest,
  CreateWebhookResponse,
  GetWebhookRequest,
  GetWebhookResponse,
  ListWebhooksRequest,
  ListWebhooksResponse,
  UpdateWebhookRequest,
  UpdateWebhookResponse,
  DeleteWebhookRequest,
  DeleteWebhookResponse,
  RotateWebhookSecretRequest,
  RotateWebhookSecretResponse,
  ListWebhookDeliveriesRequest,
  ListWebhookDeliveriesResponse,
  RedeliverWebhookRequest,
  RedeliverWebhookResponse,
  SendTestWebhookRequest,
  SendTestWebhookResponse,
} from "./webhook.ts";
import type {
  CreateWorkspaceRequest,
  CreateWorkspaceResponse,
  ListWorkspacesRequest,
  ListWorkspacesResponse,
  UpdateWorkspaceRequest,
  UpdateWorkspaceResponse,
  ListMembersRequest,
  ListMembersResponse,
  InviteMemberRequest,
  InviteMemberResponse,
  UpdateMemberRequest,
  UpdateMemberResponse,
  RemoveMemberRequest,
  RemoveMemberResponse,
} from "./workspace.ts";

/** Methods with one answer. */
export interface UnaryMethods {
  /** Registers a domain and returns the DNS records to publish. */
  "DomainService/AddDomain": { request: AddDomainRequest; response: AddDomainResponse };
  /** Returns one domain with the state of its DNS records. */
  "DomainService/GetDomain": { request: GetDomainRequest; response: GetDomainResponse };
  /** Lists the workspace's domains, newest first, page by page. */
  "DomainService/ListDomains": { request: ListDomainsRequest; response: ListDomainsResponse };
  /** Looks the domain's records up in DNS now and returns the new state. */
  "DomainService/VerifyDomain": { request: VerifyDomainRequest; response: VerifyDomainResponse };
  /**
   * Removes a domain. New sends from it are refused at once; mail that was already accepted is still signed and delivered.
   * Its DKIM keys stay in DNS for 7 days after their last signature.
   */
  "DomainService/DeleteDomain": { request: DeleteDomainRequest; response: DeleteDomainResponse };
  /**
   * Replaces the domain's DKIM keys. Nothing has to be published: the CNAME records keep their targets, and the service
   * serves the new keys there. A new key signs only after it has been served for its time to live; the old one stays
   * served for 7 days after its last signature.
   */
  "DomainService/RotateDkim": { request: RotateDkimRequest; response: RotateDkimResponse };
  /**
   * Serves the domain's records from the service's own DNS, as its provider would, and looks them up at once. For trying things
   * out with no internet: in capture mode, and for reserved names such as `shop.test` or `example.com` only.
   */
  "DomainService/PublishToLocalDns": { request: PublishToLocalDnsRequest; response: PublishToLocalDnsResponse };
  /** Sends an email to one or more recipients. */
  "EmailService/SendEmail": { request: SendEmailRequest; response: SendEmailResponse };
  /** Returns one email with the state of each recipient. A key with send permission sees only what it sent itself. */
  "EmailService/GetEmail": { request: GetEmailRequest; response: GetEmailResponse };
  /** Lists emails, newest first. All filters that are set must match. */
  "EmailService/ListEmails": { request: ListEmailsRequest; response: ListEmailsResponse };
  /**
   * Cancels an email for every recipient that is still waiting: a scheduled email, or one between two attempts.
   * Recipients with a finished outcome, or with an attempt under way, are not changed.
   */
  "EmailService/CancelEmail": { request: CancelEmailRequest; response: CancelEmailResponse };
  /** Returns the content of an email: its texts and the whole message as it is sent. */
  "EmailService/GetEmailContent": { request: GetEmailContentRequest; response: GetEmailContentResponse };
  /**
   * Sends up to 500 emails in one call. Each is judged and answered on its own, in the order given: a bad one does not stop the others.
   * All are sent in the background, as with `async`. An `Idempotency-Key` header covers the whole batch.
   */
  "EmailService/SendEmailBatch": { request: SendEmailBatchRequest; response: SendEmailBatchResponse };
  /** Lists stored events after a cursor, oldest first, without waiting for new ones. */
  "EmailService/ListEvents": { request: ListEventsRequest; response: ListEventsResponse };
  /** Lists inbound messages, newest first. All filters that are set must match. */
  "InboundService/ListInbound": { request: ListInboundRequest; response: ListInboundResponse };
  /** Returns one inbound message with its texts. */
  "InboundService/GetInbound": { request: GetInboundRequest; response: GetInboundResponse };
  /** Returns an inbound message exactly as it arrived. */
  "InboundService/GetInboundContent": { request: GetInboundContentRequest; response: GetInboundContentResponse };
  /** Returns one attachment of an inbound message. */
  "InboundService/GetInboundAttachment": { request: GetInboundAttachmentRequest; response: GetInboundAttachmentResponse };
  /** Creates a key. Its secret is in the answer and can never be read again. */
  "KeyService/CreateKey": { request: CreateKeyRequest; response: CreateKeyResponse };
  /** Lists the workspace's keys, newest first, revoked ones included. Secrets are never shown. */
  "KeyService/ListKeys": { request: ListKeysRequest; response: ListKeysResponse };
  /** Revokes a key at once and for good; streams opened with it end. Revoking a revoked key changes nothing. */
  "KeyService/RevokeKey": { request: RevokeKeyRequest; response: RevokeKeyResponse };
  /** Lists the destinations that mail is waiting for, those with the most recipients first. */
  "QueueService/ListDestinations": { request: ListDestinationsRequest; response: ListDestinationsResponse };
  /** Makes every waiting recipient of a destination due now, instead of at the next planned attempt. Scheduled emails keep their time. */
  "QueueService/RetryDestination": { request: RetryDestinationRequest; response: RetryDestinationResponse };
  /** Holds the mail for a destination until ResumeDestination. Attempts under way go on; expiry goes on too. */
  "QueueService/PauseDestination": { request: PauseDestinationRequest; response: PauseDestinationResponse };
  /** Lets the mail for a paused destination go again. */
  "QueueService/ResumeDestination": { request: ResumeDestinationRequest; response: ResumeDestinationResponse };
  /** Gives up every waiting recipient of a destination: each ends as failed with the reason `purged`. It cannot be undone. */
  "QueueService/PurgeDestination": { request: PurgeDestinationRequest; response: PurgeDestinationResponse };
  /** Returns the counts of a span of time, bucket by bucket, in all, and by receiving site. */
  "StatsService/GetStats": { request: GetStatsRequest; response: GetStatsResponse };
  /** Lists suppressed addresses, newest first. */
  "SuppressionService/ListSuppressions": { request: ListSuppressionsRequest; response: ListSuppressionsResponse };
  /** Puts an address on the list. An address that is already there stays as it is and is returned. */
  "SuppressionService/AddSuppression": { request: AddSuppressionRequest; response: AddSuppressionResponse };
  /** Takes an address off the list, so that it is sent to again. */
  "SuppressionService/RemoveSuppression": { request: RemoveSuppressionRequest; response: RemoveSuppressionResponse };
  /** Adds addresses from CSV text. Good lines are added even when others are bad; the bad ones are listed. */
  "SuppressionService/ImportSuppressions": { request: ImportSuppressionsRequest; response: ImportSuppressionsResponse };
  /** Returns the list as CSV text, in pages of up to 100,000 lines, in the form that ImportSuppressions reads. */
  "SuppressionService/ExportSuppressions": { request: ExportSuppressionsRequest; response: ExportSuppressionsResponse };
  /** Creates a webhook. It receives the events that happen from now on. */
  "WebhookService/CreateWebhook": { request: CreateWebhookRequest; response: CreateWebhookResponse };
  /** Returns one webhook. */
  "WebhookService/GetWebhook": { request: GetWebhookRequest; response: GetWebhookResponse };
  /** Lists the workspace's webhooks, newest first. */
  "WebhookService/ListWebhooks": { request: ListWebhooksRequest; response: ListWebhooksResponse };
  /**
   * Changes a webhook. Fields that are left out stay as they are. Enabling a disabled webhook goes on with the events that
   * happen from then on; RedeliverWebhook brings back those that were missed.
   */
  "WebhookService/UpdateWebhook": { request: UpdateWebhookRequest; response: UpdateWebhookResponse };
  /** Deletes a webhook together with its deliveries that are still waiting. */
  "WebhookService/DeleteWebhook": { request: DeleteWebhookRequest; response: DeleteWebhookResponse };
  /** Gives a webhook a new signing secret. For 24 hours every delivery is signed with the new and with the old secret. */
  "WebhookService/RotateWebhookSecret": { request: RotateWebhookSecretRequest; response: RotateWebhookSecretResponse };
  /** Lists the deliveries of a webhook, newest first, each with its last attempt. For keys with read permission, `payload` is left empty. */
  "WebhookService/ListWebhookDeliveries": { request: ListWebhookDeliveriesRequest; response: ListWebhookDeliveriesResponse };
  /** Posts events again: one earlier delivery, or every event of a range of cursors that the webhook's types let through. */
  "WebhookService/RedeliverWebhook": { request: RedeliverWebhookRequest; response: RedeliverWebhookResponse };
  /**
   * Posts one made-up event to the webhook now and returns what the endpoint answered. It is tried once and counts neither as success nor as failure.
   * Its `metadata` holds `posthornTest`, so that a receiver can tell it from a real one.
   */
  "WebhookService/SendTestWebhook": { request: SendTestWebhookRequest; response: SendTestWebhookResponse };
  /** Creates a workspace with the signed-in person as its owner. Keys cannot call it. */
  "WorkspaceService/CreateWorkspace": { request: CreateWorkspaceRequest; response: CreateWorkspaceResponse };
  /** Lists the workspaces of the caller: for a key the one it belongs to, for a person all of theirs. */
  "WorkspaceService/ListWorkspaces": { request: ListWorkspacesRequest; response: ListWorkspacesResponse };
  /** Renames a workspace. For owners; keys cannot call it. */
  "WorkspaceService/UpdateWorkspace": { request: UpdateWorkspaceRequest; response: UpdateWorkspaceResponse };
  /** Lists the members of a workspace, open invitations included, by email address. */
  "WorkspaceService/ListMembers": { request: ListMembersRequest; response: ListMembersResponse };
  /** Invites a person by email. The invitation is valid for 7 days; inviting again renews it. For owners; keys cannot call it. */
  "WorkspaceService/InviteMember": { request: InviteMemberRequest; response: InviteMemberResponse };
  /** Changes what a member may do, or what an invited person will. For owners; keys cannot call it. */
  "WorkspaceService/UpdateMember": { request: UpdateMemberRequest; response: UpdateMemberResponse };
  /** Removes a member, or takes an invitation back. Keys that the member made stay valid. For owners; keys cannot call it. */
  "WorkspaceService/RemoveMember": { request: RemoveMemberRequest; response: RemoveMemberResponse };
}

/** Methods with a stream of answers. */
export interface StreamMethods {
  /** Streams the workspace's events, first those already stored and then each new one as it happens. */
  "EmailService/StreamEvents": { request: StreamEventsRequest; response: StreamEventsResponse };
}
