import { command, count, fields, oneOf, required, sections, stamp } from '../kit/index.ts'

export const createToken = command(
  'create <name>',
  'An API token for scripts, shown once; it ends with the account that made it',
  {
    role: required(oneOf('--role <role>', 'what it may do', ['viewer', 'reviewer', 'operator'])),
    days: count('--days <days>', 'how long it works, at most 365 (default: 90)'),
  },
  ({ api }, { name, role, days }) => api.admin.createToken({ body: { name, role, ...(days ? { days } : {}) } }),
  ({ name, role, token, expiresAt }, style) =>
    sections(
      fields(style, [
        ['token', style.paint.bold(token)],
        ['name', name],
        ['role', role],
        ['works until', stamp(expiresAt, style.now)],
      ]),
      'It is shown only now. Scripts give it as TENANTRY_TOKEN.',
    ),
)
