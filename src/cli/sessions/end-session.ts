import { clean, command } from '../kit/index.ts'

export const endSession = command(
  'end-session <tenant> <session>',
  'End one session of a user on every replica within a second; its chat goes on',
  {},
  ({ api }, { tenant, session }) => api.sessions.revokeUserSession({ params: { slug: tenant, id: session } }),
  (_, { paint }, { session }) => `${paint.green('Ended')} ${clean(session)}.`,
)
