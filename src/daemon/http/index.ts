// Turns contracts into an HTTP server: identity, validation, answers, problems, streams, metrics. It knows no room.

export { addressTurns } from './address-turns.ts'
export { buildApp } from './app.ts'
export { Channel } from './channel.ts'
export { clientPaths } from './client-paths.ts'
export { type HttpMetrics, makeMetrics } from './metrics.ts'
export type { Authenticators } from './mount.ts'
export type { FilePart, Upload } from './receive-upload.ts'
export type { FileBody } from './send-file.ts'
export { type Handlers, type Served, serve, serveContract } from './serve.ts'
export type { PushStream } from './stream.ts'
export { type Tagged, tagged } from './tagged.ts'
export { trustOf } from './trust.ts'
