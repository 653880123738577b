// The outermost side of the daemon: web pages and apps that may read its answers, and forwarding headers that nobody vouches for.
// It knows the tenants' domains on every replica as soon as they change, and guesses nothing: an origin is allowed by name or not at all.
// It identifies nobody and refuses nobody: what a browser must not show, others may still ask for, and identity is asked of them.
export { type EdgeSide, openEdge } from './open-edge.ts'
export { readUntrusted, type Untrusted } from './untrusted-forwarding.ts'
