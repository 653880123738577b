// CORS for web pages and apps, and the detection of forwarding headers from untrusted peers.
// It knows the tenants' domains on every replica as soon as they change, and guesses nothing: an origin is allowed by name or not at all.
// It authenticates and refuses no caller: CORS only limits what browsers show.
export { type EdgeSide, openEdge } from './open-edge.ts'
export { readUntrusted, type Untrusted } from './untrusted-forwarding.ts'
