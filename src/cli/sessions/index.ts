import type { EndedBy, Session } from '../../core/sessions/index.ts'
import { ago, type Column, clean, command, count, flag, type Style, sections, table, text } from '../kit/index.ts'

// Where a user of a tenant is logged in, and the end of such a session; both are commands of `tenantry users`.
// It never ends a chat session: that lives in the tenant's chat server.

const columns = ({ now }: Style): Column<Session>[] => [
  { title: 'SESSION', value: ({ id }) => id, priority: 1 },
  { title: 'DEVICE', value: ({ deviceName }) => clean(deviceName), priority: 1, minWidth: 12 },
  { title: 'FROM', value: ({ network }) => clean(network), priority: 3, minWidth: 10 },
  { title: 'SINCE', value: ({ createdAt }) => ago(createdAt, now), priority: 2 },
  { title: 'REFRESHED', value: ({ lastUsedAt }) => ago(lastUsedAt, now), priority: 2 },
  { title: 'ENDS', value: ({ expiresAt }) => ago(expiresAt, now), priority: 4 },
]

type Ended = Session & Readonly<{ endedAt: string | null; endedBy: EndedBy | null }>

const why = {
  logout: 'logged out',
  user: 'by the user',
  admin: 'by an operator',
  reuse: 'refresh token used twice',
  disabled: 'user disabled',
  reset: 'password reset',
  too_many: 'too many sessions',
} as const satisfies Record<EndedBy, string>

const endedColumns = (style: Style): Column<Ended>[] => [
  ...columns(style).slice(0, 4),
  { title: 'ENDED', value: ({ endedAt }) => endedAt && ago(endedAt, style.now), priority: 1 },
  { title: 'WHY', value: ({ endedBy }) => endedBy && why[endedBy], priority: 1 },
]

export const listSessions = command(
  'sessions <tenant> <user>',
  'Where a user is logged in: its open sessions, newest first',
  {
    ended: flag('--ended', 'those that were ended instead, and what ended each'),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  ({ api }, { tenant, ended, ...query }) =>
    api.sessions.listUserSessions({ params: { slug: tenant }, query: { ...query, ...(ended ? { ended: 'true' } : {}) } }),
  ({ sessions, nextCursor, most }, style, { user, ended }) => {
    if (sessions.length === 0) return `${clean(user)} has no ${ended ? 'ended' : 'open'} session.`
    return sections(
      table(style, ended ? endedColumns(style) : columns(style), sessions),
      nextCursor ? `More: the same command with --cursor ${clean(nextCursor)}` : '',
      !ended && sessions.length >= most
        ? `At most ${most} are open at a time: the next login ends the one that was unused for longest.`
        : '',
    )
  },
)

export const endSession = command(
  'end-session <tenant> <session>',
  'End one session of a user on every replica within a second; its chat goes on',
  {},
  ({ api }, { tenant, session }) => api.sessions.revokeUserSession({ params: { slug: tenant, id: session } }),
  (_, { paint }, { session }) => `${paint.green('Ended')} ${clean(session)}.`,
)
