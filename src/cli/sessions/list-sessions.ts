import type { Session } from '../../core/sessions/index.ts'
import { ago, type Column, clean, command, type Look, table } from '../kit/index.ts'

const columns = ({ now }: Look): Column<Session>[] => [
  { title: 'SESSION', value: ({ id }) => id, priority: 1 },
  { title: 'DEVICE', value: ({ deviceName }) => clean(deviceName), priority: 1, least: 12 },
  { title: 'FROM', value: ({ network }) => clean(network), priority: 3, least: 10 },
  { title: 'SINCE', value: ({ createdAt }) => ago(createdAt, now), priority: 2 },
  { title: 'REFRESHED', value: ({ lastUsedAt }) => ago(lastUsedAt, now), priority: 2 },
  { title: 'ENDS', value: ({ expiresAt }) => ago(expiresAt, now), priority: 4 },
]

export const listSessions = command(
  'sessions <tenant> <user>',
  'Where a user is logged in: its open sessions, newest first',
  {},
  ({ api }, { tenant, user }) => api.sessions.listUserSessions({ params: { slug: tenant }, query: { user } }),
  ({ sessions }, look, { user }) => (sessions.length === 0 ? `${clean(user)} has no open session.` : table(look, columns(look), sessions)),
)
