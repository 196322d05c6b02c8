// Generated from the contract in proto/ by "npm run generate": the types of google/rpc/error_details.proto. Do not edit.
/** One problem with one field. */
export interface FieldViolation {
  /** Path of the field in the request's JSON, for example `to[1]` or `attachments[0].filename`. */
  field: string;
  /** What is wrong, and what is expected. */
  description: string;
}
