// `tenantry users sessions|end-session`: lists and ends the platform sessions of a user.
// It never ends a chat session: the tenant's chat server owns those.
import type { EndedBy, Session } from '../../core/sessions/index.ts'
import { ago, type Column, clean, command, count, flag, type Style, sections, table, text } from '../kit/index.ts'

const columns = ({ now }: Style): Column<Session>[] => [
  { title: 'SESSION', value: ({ id }) => id, priority: 1 },
  { title: 'DEVICE', value: ({ deviceName }) => clean(deviceName), priority: 1, minWidth: 12 },
  { title: 'NETWORK', value: ({ network }) => clean(network), priority: 3, minWidth: 10 },
  { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now), priority: 2 },
  { title: 'LAST USED', value: ({ lastUsedAt }) => ago(lastUsedAt, now), priority: 2 },
  { title: 'EXPIRES', value: ({ expiresAt }) => ago(expiresAt, now), priority: 4 },
]

type Ended = Session & Readonly<{ endedAt: string | null; endedBy: EndedBy | null }>

const reasons = {
  logout: 'logged out',
  user: 'ended by the user',
  admin: 'ended by an operator',
  reuse: 'refresh token reused',
  disabled: 'user disabled',
  reset: 'password reset',
  too_many: 'too many sessions',
} as const satisfies Record<EndedBy, string>

const endedColumns = (style: Style): Column<Ended>[] => [
  ...columns(style).slice(0, 4),
  { title: 'ENDED', value: ({ endedAt }) => endedAt && ago(endedAt, style.now), priority: 1 },
  { title: 'REASON', value: ({ endedBy }) => endedBy && reasons[endedBy], priority: 1 },
]

export const listSessions = command('sessions <tenant> <user>', 'List the open sessions of a user, newest first', {
  options: {
    ended: flag('--ended', 'list ended sessions instead, with the reason'),
    limit: count('--limit <count>', 'max results'),
    cursor: text('--cursor <cursor>', 'pagination cursor'),
  },
  run: ({ api }, { tenant, ended, ...query }) =>
    api.sessions.listUserSessions({ params: { slug: tenant }, query: { ...query, ...(ended ? { ended: 'true' } : {}) } }),
  view: ({ sessions, nextCursor, most: max }, style, { ended }) => {
    if (sessions.length === 0) return ended ? 'No ended sessions.' : 'No open sessions.'
    return sections(
      table(style, ended ? endedColumns(style) : columns(style), sessions),
      nextCursor ? `Next page: --cursor ${clean(nextCursor)}` : '',
      !ended && sessions.length >= max ? `Session limit (${max}) reached: the next login ends the least recently used session.` : '',
    )
  },
})

export const endSession = command('end-session <tenant> <session>', 'End one session of a user (chat sessions are not affected)', {
  run: ({ api }, { tenant, session }) => api.sessions.revokeUserSession({ params: { slug: tenant, id: session } }),
  view: (_, { paint }, { session }) => `${paint.green('Ended')} ${clean(session)}.`,
})
