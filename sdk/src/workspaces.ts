/** posthorn.workspaces: the workspace of the key, its members and its quotas. Changes need a signed-in person. */
import type { Call } from "./call.ts";
import { checkObject } from "./check.ts";
import type {
  GetQuotasRequest,
  GetQuotasResponse,
  ListMembersRequest,
  ListMembersResponse,
  ListWorkspacesRequest,
  ListWorkspacesResponse,
  Member,
  Workspace,
} from "./gen/workspace.ts";
import { type List, listByToken } from "./list.ts";
import type { CallOptions } from "./settings.ts";

export class Workspaces {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Lists the workspaces of the caller: for a key, its own workspace. */
  list(request: ListWorkspacesRequest = {}, options?: CallOptions): List<Workspace, ListWorkspacesResponse> {
    return listByToken(request, (page) => this.#call("WorkspaceService/ListWorkspaces", page, options));
  }

  /** Lists the members of the workspace and the open invitations, ordered by email address. */
  members(request: ListMembersRequest = {}, options?: CallOptions): List<Member, ListMembersResponse> {
    return listByToken(request, (page) => this.#call("WorkspaceService/ListMembers", page, options));
  }

  /** Returns the quotas of the workspace, their usage, and whether the workspace is suspended or warned. */
  async quotas(request: GetQuotasRequest = {}, options?: CallOptions): Promise<GetQuotasResponse> {
    checkObject(request, "request");
    return await this.#call("WorkspaceService/GetQuotas", request, options);
  }
}
