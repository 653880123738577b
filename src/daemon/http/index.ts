// Turns contracts into an HTTP server: authentication, validation, responses, problems, event streams, files and metrics.
// A feature gives it endpoints with handlers; this folder imports no feature and reads no table.
// Rate limits come in through `CallLimits`; identities through `Authenticators`.

export { addressSlots } from './address-limit.ts'
export { buildApp, trustOf } from './app.ts'
export type { Authenticators, TenantOfCall } from './authenticate-call.ts'
export { clientPaths } from './call-limits.ts'
export { capConnections, sharedAddresses } from './connection-cap.ts'
export type { PushStream } from './event-stream.ts'
export { Channel } from './event-stream.ts'
export { htmlPage } from './html-page.ts'
export { type HttpMetrics, makeMetrics } from './metrics.ts'
export { assertPageCall, type PageAccess, pageAccess, pageCookie, pageHeaders, pageToken } from './page-access.ts'
export type { RawRequest, RawResponse } from './raw.ts'
export { bytesOf, type FilePart, type Upload } from './receive-upload.ts'
export type { FileBody } from './send-file.ts'
export { type Handlers, type Served, serve, serveContract } from './serve.ts'
export { encoded, type Tagged, tagged } from './tagged.ts'
export { callerOf, type WorkPlaces, workPlaces } from './work-places.ts'
