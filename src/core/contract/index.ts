// The contract: each endpoint declared once with zod; validation, OpenAPI and the typed client are made from it.
// It knows no server, and of rooms only who can be calling; rooms declare, `src/daemon/http` mounts, `src/core/api.ts` gathers.
export { type Client, makeClient } from './client.ts'
export { type Bound, type Cost, costs } from './cost.ts'
export {
  type ActorOf,
  type AdminAccess,
  type AdminRole,
  type Auth,
  admin,
  adminPerson,
  adminReauthenticated,
  adminRoles,
  adminSetup,
  agent,
  automation,
  boundOf,
  type Contract,
  costOf,
  developer,
  type EndpointShape,
  empty,
  endpoint,
  file,
  isSchema,
  isStream,
  type Multipart,
  methods,
  open,
  platform,
  platformSetup,
  type RequestOf,
  raw,
  roleAtLeast,
  type StreamMessage,
  sse,
  text,
  vendor,
} from './endpoint.ts'
export { formatStreamMessage } from './event-stream.ts'
export { followStream } from './follow-stream.ts'
export { openApiDocument, openApiInSteps, problemsOf } from './openapi.ts'
export { noSuchPage, type PageEnd, pageEnd, pageOf, readPageEnd } from './page-end.ts'
export {
  Capability,
  Counter,
  CounterText,
  Email,
  fieldReasons,
  Paging,
  pagingBy,
  parsePart,
  parseQuery,
  shownLine,
  TimeInput,
  Timestamp,
  YesNo,
} from './validate.ts'
