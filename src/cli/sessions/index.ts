// Where a user of a tenant is logged in, and the end of such a session; both are commands of `tenantry users`.
// It never ends a chat session: that lives in the tenant's chat server.
export { endSession } from './end-session.ts'
export { listSessions } from './list-sessions.ts'
